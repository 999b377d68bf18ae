// Command temporalserver is a Temporal server for tests: one process, its state in an SQLite
// file, so that it can be killed and started again. It is a module of its own, for the sake of
// what the server depends on.
//
//	temporalserver -db FILE -port PORT
//
// It ends on SIGTERM or SIGINT.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	plugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const (
	host        = "127.0.0.1"
	clusterName = "active"
)

func main() {
	file := flag.String("db", "", "the `file` with the state of the server, made where there is none")
	port := flag.Int("port", 0, "where clients connect")
	flag.Parse()
	if *file == "" || *port == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := serve(*file, *port); err != nil {
		fmt.Fprintln(os.Stderr, "temporalserver:", err)
		os.Exit(1)
	}
}

// serve runs the server until it is interrupted.
func serve(file string, port int) error {
	store := &config.SQL{
		PluginName: plugin.PluginName, DatabaseName: file,
		ConnectAttributes: map[string]string{"mode": "rwc", "_journal_mode": "wal", "_synchronous": "normal"},
	}
	settings, err := newSettings(store, port)
	if err != nil {
		return err
	}
	if err := prepare(store); err != nil {
		return err
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(settings),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "error"}))),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.TransferProcessorMaxPollRPS.Key():             2000,
			dynamicconfig.TimerProcessorMaxPollRPS.Key():                2000,
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
		}),
		temporal.InterruptOn(temporal.InterruptCh()),
	)
	if err != nil {
		return err
	}
	return server.Start()
}

// prepare makes the tables and the namespace default in a new file.
func prepare(store *config.SQL) error {
	_, err := os.Stat(store.DatabaseName)
	if errors.Is(err, os.ErrNotExist) {
		err = sqlite.SetupSchema(store)
	}
	if err != nil {
		return err
	}
	namespace, err := sqlite.NewNamespaceConfig(clusterName, "default", false, nil)
	if err != nil {
		return err
	}
	return sqlite.CreateNamespaces(store, namespace)
}

// newSettings returns those of a server whose services all are in this process.
func newSettings(store *config.SQL, port int) (*config.Config, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: plugin.PluginName, VisibilityStore: plugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{plugin.PluginName: {SQL: store}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: address},
		Services:            map[string]config.Service{},
	}
	c.Global.Membership.BroadcastAddress = host
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	for _, name := range temporal.DefaultServices {
		rpc := config.RPC{GRPCPort: port, BindOnIP: host}
		if name != "frontend" {
			free, err := freePort()
			if err != nil {
				return nil, err
			}
			rpc.GRPCPort = free
		}
		free, err := freePort()
		if err != nil {
			return nil, err
		}
		rpc.MembershipPort = free
		c.Services[name] = config.Service{RPC: rpc}
	}
	return c, nil
}

// freePort returns one that nothing listens at.
func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
