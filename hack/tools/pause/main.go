// Command pause does nothing until it is told to stop. A pod's sandbox runs it, so that the pod's
// namespaces live on while its containers come and go.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}
