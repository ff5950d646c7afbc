// Package colorlighti5 is the gateware of the Colorlight i5, revision 7.0, on its extension
// board: the GPU of the configuration default with one node, at an Ethernet.
package colorlighti5
