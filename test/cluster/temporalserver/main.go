// Command temporalserver is a Temporal server for tests: one process, its state in a Postgres database, so that it
// can be killed and started again. It is a module of its own, because of the server's dependencies.
//
// For example:
//
//	temporalserver -db postgres://localhost/temporal -port 7233
//
// It ends on SIGTERM or SIGINT.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema"
	v12 "go.temporal.io/server/schema/postgresql/v12"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const (
	host        = "127.0.0.1"
	clusterName = "active"
)

func main() {
	address := flag.String("db", "", "the `URL` of the database with the state of the server; what it lacks is made")
	port := flag.Int("port", 0, "where clients connect")
	flag.Parse()
	if *address == "" || *port == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := serve(*address, *port); err != nil {
		fmt.Fprintln(os.Stderr, "temporalserver:", err)
		os.Exit(1)
	}
}

// serve runs the server until it is interrupted.
func serve(address string, port int) error {
	store, err := newStore(address)
	if err != nil {
		return err
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

// newStore returns how the database at a URL is reached.
func newStore(address string) (*config.SQL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the URL of the database is not valid") // it may hold a password
	}
	store := &config.SQL{
		PluginName: postgresql.PluginNamePGX, ConnectAddr: cmp.Or(u.Host, host+":5432"), DatabaseName: strings.TrimPrefix(u.Path, "/"),
		User: u.User.Username(), MaxConns: 20, MaxIdleConns: 20, ConnectAttributes: map[string]string{},
	}
	store.Password, _ = u.User.Password()
	for name, values := range u.Query() {
		if name != "sslmode" { // which store.TLS decides
			store.ConnectAttributes[name] = values[0]
		}
	}
	return store, nil
}

// prepare creates the tables and the namespace default if they are missing.
func prepare(store *config.SQL) error {
	db, err := sql.NewSQLAdminDB(sqlplugin.DbKindUnknown, store, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ReadSchemaVersion(store.DatabaseName); err != nil {
		err = createTables(db, store.DatabaseName)
		if err != nil {
			return err
		}
	}
	namespace, err := sqlite.NewNamespaceConfig(clusterName, "default", false, nil)
	if err != nil {
		return err
	}
	return sqlite.CreateNamespaces(store, namespace)
}

// createTables creates the tables of executions and of their search attributes, in one database.
func createTables(db sqlplugin.AdminDB, database string) error {
	err := db.CreateSchemaVersionTables()
	if err != nil {
		return err
	}
	for _, name := range []string{"temporal", "visibility"} {
		text, err := fs.ReadFile(schema.Assets(), "postgresql/v12/"+name+"/schema.sql")
		if err != nil {
			return err
		}
		statements, err := persistence.LoadAndSplitQueryFromReaders([]io.Reader{bytes.NewReader(text)})
		if err != nil {
			return err
		}
		for _, statement := range statements {
			if err := db.Exec(statement); err != nil {
				return fmt.Errorf("%w\n%s", err, statement)
			}
		}
	}
	return db.UpdateSchemaVersion(database, v12.Version, v12.Version) // of the later of the two
}

// newSettings returns the settings of a server that has all services in this process.
func newSettings(store *config.SQL, port int) (*config.Config, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: postgresql.PluginNamePGX, VisibilityStore: postgresql.PluginNamePGX, NumHistoryShards: 4,
			DataStores: map[string]config.DataStore{postgresql.PluginNamePGX: {SQL: store}},
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

// freePort returns one that nothing listens at. The tables of Temporal hold none above 32767.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, last
}
