// A k6 of our own: the program as it is published, with our crowd of page loads compiled in as k6/x/page.
package main

import (
	"os"
	"strings"

	k6 "go.k6.io/k6/cmd"

	_ "coldload/k6/crowd"
)

func main() {
	for _, each := range os.Environ() { // what a user has set for a k6 of theirs is not for this one
		if name, _, _ := strings.Cut(each, "="); strings.HasPrefix(name, "K6_") {
			_ = os.Unsetenv(name)
		}
	}
	k6.Execute()
}
