// Package content is a model of the contents of resources: which bytes each has, and
// which calls made them. It knows no contents of a resource above a size, and forgets
// bytes whose value the interface leaves open. It is not safe for concurrent use.
package content
