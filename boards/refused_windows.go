package boards

import "golang.org/x/sys/windows"

// connRefused is the error of connecting to a port without a listener.
const connRefused = windows.WSAECONNREFUSED
