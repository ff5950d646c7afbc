package boards

import "golang.org/x/sys/windows"

// connRefused is the error of a connection to a port where nobody listens.
const connRefused = windows.WSAECONNREFUSED
