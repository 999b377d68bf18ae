// Package remote lets a second program carry out the runs that go to other machines. Only that program,
// scheduler-temporal, is linked with the SDK of Temporal; scheduler is not.
//
// The life of a [Client], which is the [service.Remote] of the first program:
//
//  1. [Find] looks for the program: the setting, the folder of this program, PATH.
//  2. The first request starts it as a plugin of hashicorp/go-plugin, and opens it with
//     [Settings]. A program of another version is refused, by both sides: see [Settings] Version.
//  3. Start, Answer, Wake, Check and Wait go over; errors come back with kind and hint, in both
//     languages.
//  4. A program that died is started again by the next request. It ends with Close, and by
//     itself if the first program dies.
//
// Both programs are of one version, so the messages are JSON of Go types, in one method of gRPC: for example
// {"method":"wake","id":"01a2"} and back {"done":true}. [Serve] is the side of the second program. A worker is not
// started here: [HandOver] gives the whole process over to the second program.
package remote

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/hashicorp/go-plugin"
)

const (
	// Temporal is the value of the label runs_on of runs that Temporal distributes.
	Temporal = "temporal"
	// Program is the name of the second program, without the .exe of Windows.
	Program = "scheduler-temporal"
	// ServeCommand is its argument to serve this package's [Client].
	ServeCommand = "remote"
	// VersionFlag passes the version of the program that hands over.
	VersionFlag = "--of-version"
)

// handshake distinguishes a plugin of this kind from any other program.
var handshake = plugin.HandshakeConfig{
	ProtocolVersion: 1, MagicCookieKey: "SCHEDULER_REMOTE_PLUGIN", MagicCookieValue: "7b1c3a52-runs-on-other-machines",
}

const (
	kindName    = "remote"
	serviceName = "scheduler.Remote"
	callMethod  = "Call"
	// maxMessage bounds a message: answers of people.
	maxMessage = 64 << 20
)

// callStream is the one method: a request, then hints and an end.
var callStream = grpc.StreamDesc{StreamName: callMethod, ServerStreams: true}

// envelope is the message that gRPC carries; its value is JSON.
type envelope = wrapperspb.BytesValue
