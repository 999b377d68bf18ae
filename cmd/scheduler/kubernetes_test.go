package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// manifests is the folder that kubectl apply -k takes.
const manifests = "../../configs/cluster/kubernetes"

// kustomization is the file of that name, as far as the folder uses it.
type kustomization struct {
	APIVersion string                          `json:"apiVersion"`
	Kind       string                          `json:"kind"`
	Resources  []string                        `json:"resources"`
	Images     []struct{ Name, NewTag string } `json:"images"`
	Secrets    []generator                     `json:"secretGenerator"`
	ConfigMaps []generator                     `json:"configMapGenerator"`
}

type generator struct {
	Name        string
	Envs, Files []string
}

// object is a Kubernetes object with the fields that the manifests use: another name is a misspelling.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string
	Metadata   metadata
	Spec       struct {
		// Of a Service.
		ClusterIP string          `json:"clusterIP"`
		Selector  json.RawMessage // labels of a Service, matchLabels of the others
		Ports     []servicePort
		// Of a Deployment and a StatefulSet.
		ServiceName string
		Replicas    int
		Strategy    struct{ Type string }
		Template    struct {
			Metadata metadata
			Spec     pod
		}
		VolumeClaimTemplates []struct {
			Metadata metadata
			Spec     struct {
				AccessModes []string
				Resources   resources
			}
		}
	}
}

type metadata struct {
	Name   string
	Labels map[string]string
}

type servicePort struct {
	Name       string
	Port       int
	TargetPort string
}

type pod struct {
	TerminationGracePeriodSeconds int
	AutomountServiceAccountToken  *bool
	EnableServiceLinks            *bool
	SecurityContext               struct {
		RunAsNonRoot                   bool
		RunAsUser, RunAsGroup, FSGroup int
		SeccompProfile                 struct{ Type string }
	}
	Containers []container
	Volumes    []struct {
		Name      string
		EmptyDir  *struct{}
		ConfigMap struct{ Name string }
	}
}

type container struct {
	Name, Image string
	Args        []string
	EnvFrom     []struct{ SecretRef struct{ Name string } }
	Env         []struct {
		Name, Value string
		ValueFrom   struct{ SecretKeyRef struct{ Name, Key string } }
	}
	Ports []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, LivenessProbe, ReadinessProbe *probe
	SecurityContext                             struct {
		AllowPrivilegeEscalation *bool
		ReadOnlyRootFilesystem   bool
		Capabilities             struct{ Drop []string }
	}
	Resources    resources
	VolumeMounts []struct {
		Name, MountPath, SubPath string
		ReadOnly                 bool
	}
}

type probe struct {
	HTTPGet   *struct{ Path, Port string } `json:"httpGet"`
	TCPSocket *struct{ Port string }       `json:"tcpSocket"`
	Exec      *struct{ Command []string }

	PeriodSeconds, FailureThreshold, TimeoutSeconds int
}

type resources struct{ Requests, Limits map[string]string }

// decodeManifest reads a document of YAML, and refuses fields that the target does not have.
func decodeManifest(t *testing.T, name, text string, to any) {
	t.Helper()
	v, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	in := json.NewDecoder(bytes.NewReader(v.AppendIndented(nil, "")))
	in.DisallowUnknownFields()
	if err := in.Decode(to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func readManifest(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// cluster is the content of the folder.
type cluster struct {
	kustomization
	objects []object
	// secret has the keys of secret.env, as the first comment of the folder says to write it.
	secret []string
	paths  map[string]any // of the API
}

func readCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	text := readManifest(t, "kustomization.yaml")
	decodeManifest(t, "kustomization.yaml", text, &c.kustomization)
	for _, name := range c.Resources {
		for _, document := range strings.Split(readManifest(t, name), "\n---\n") {
			var o object
			decodeManifest(t, name, document, &o)
			c.objects = append(c.objects, o)
		}
	}
	printed := regexp.MustCompile(`printf '(.*)' .* > secret.env`).FindStringSubmatch(text)
	if printed == nil {
		t.Fatal("kustomization.yaml does not tell how secret.env is written")
	}
	for _, key := range regexp.MustCompile(`([A-Z_]+)=%s`).FindAllStringSubmatch(printed[1], -1) {
		c.secret = append(c.secret, key[1])
	}
	api, err := os.ReadFile("../../scheduler/server/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Paths map[string]any }
	if err := json.Unmarshal(api, &document); err != nil {
		t.Fatal(err)
	}
	c.paths = document.Paths
	return c
}

// TestKubernetesFiles: the kustomization lists every manifest, the files that it generates objects of exist, and its image has the
// version of the program.
func TestKubernetesFiles(t *testing.T) {
	c := readCluster(t)
	entries, err := os.ReadDir(manifests)
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Concat([]string{"kustomization.yaml", "flows"}, c.Resources)
	for _, one := range slices.Concat(c.Secrets, c.ConfigMaps) {
		known = append(known, one.Files...)
		if !slices.Equal(one.Envs, []string{"secret.env"}) && one.Envs != nil {
			t.Errorf("%s is made of %q", one.Name, one.Envs)
		}
		for _, file := range one.Files {
			readManifest(t, file)
		}
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			t.Errorf("kustomization.yaml does not name %s", e.Name())
		}
	}
	version, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Images) != 1 || c.Images[0].NewTag != strings.TrimSpace(string(version)) {
		t.Errorf("the images are %+v, and the version is %s", c.Images, version)
	}
}

// TestKubernetesSettings: the settings of the pods are read, name the ports and the keys of the manifests, and leave the runs time to
// be handed over.
func TestKubernetesSettings(t *testing.T) {
	c := readCluster(t)
	t.Setenv("SCHEDULER_STORE", "postgres://scheduler:x@postgres/scheduler?sslmode=disable")
	t.Setenv("JOURNAL_KEY", strings.Repeat("ab", 32))
	settings, err := config.Load(config.Place{File: filepath.Join(manifests, "scheduler.yaml")}, wire.ProviderTypes())
	if err != nil {
		t.Fatal(err)
	}
	listens := map[string]string{"serve": settings.Serve.Listen, "worker": settings.Worker.Listen}
	drains := map[string]float64{"serve": time.Duration(settings.Serve.Drain).Seconds(), "worker": time.Duration(settings.Worker.Drain).Seconds()}
	for i := range c.objects {
		o := &c.objects[i]
		part := o.Metadata.Labels["part"]
		if o.Kind != "Deployment" || part == "" {
			continue
		}
		spec := o.Spec.Template.Spec
		if got := "0.0.0.0:" + portNumber(&spec.Containers[0]); got != listens[part] {
			t.Errorf("%s: the container has %s, and the setting listens at %s", o.Metadata.Name, got, listens[part])
		}
		if drain := drains[part]; float64(spec.TerminationGracePeriodSeconds) < drain+10 {
			t.Errorf("%s: %d s to end are too few for a drain of %v s", o.Metadata.Name, spec.TerminationGracePeriodSeconds, drain)
		}
	}
	if !slices.Contains(c.secret, settings.Journal.KeyEnv) {
		t.Errorf("the key of the journal is in %q, and secret.env has %q", settings.Journal.KeyEnv, c.secret)
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(settings.On, "temporal://"), ":")
	if !c.hasService(host, port) {
		t.Errorf("no service is at %s", settings.On)
	}
	if !slices.ContainsFunc(settings.Serve.Hosts, func(name string) bool { return c.hasService(name, "80") }) {
		t.Errorf("the server does not know the name of its service: %q", settings.Serve.Hosts)
	}
}

func portNumber(c *container) string {
	text, _ := json.Marshal(c.Ports[0].ContainerPort)
	return string(text)
}

// hasService reports whether a service has that name and that port.
func (c *cluster) hasService(name, port string) bool {
	return slices.ContainsFunc(c.objects, func(o object) bool {
		return o.Kind == "Service" && o.Metadata.Name == name && slices.ContainsFunc(o.Spec.Ports, func(p servicePort) bool {
			text, _ := json.Marshal(p.Port)
			return string(text) == port
		})
	})
}

// TestKubernetesServices: a service selects pods that are there, and its ports are theirs; a StatefulSet has its service.
func TestKubernetesServices(t *testing.T) {
	c := readCluster(t)
	for i := range c.objects {
		o := &c.objects[i]
		switch o.Kind {
		case "Service":
			var labels map[string]string
			if err := json.Unmarshal(o.Spec.Selector, &labels); err != nil {
				t.Fatal(err)
			}
			var names []string
			for j := range c.objects {
				template := &c.objects[j].Spec.Template
				if len(template.Spec.Containers) > 0 && isPartOf(labels, template.Metadata.Labels) {
					names = append(names, portNames(&template.Spec.Containers[0])...)
				}
			}
			for _, p := range o.Spec.Ports {
				if !slices.Contains(names, p.TargetPort) {
					t.Errorf("service %s: no pod that it selects has the port %s", o.Metadata.Name, p.TargetPort)
				}
			}
		case "Deployment", "StatefulSet":
			var selector struct{ MatchLabels map[string]string }
			if err := json.Unmarshal(o.Spec.Selector, &selector); err != nil {
				t.Fatal(err)
			}
			if len(selector.MatchLabels) == 0 || !maps.Equal(selector.MatchLabels, o.Spec.Template.Metadata.Labels) {
				t.Errorf("%s selects %v, and its pods have %v", o.Metadata.Name, selector.MatchLabels, o.Spec.Template.Metadata.Labels)
			}
			if o.Kind == "StatefulSet" && !c.hasService(o.Spec.ServiceName, "5432") {
				t.Errorf("%s: there is no service %s", o.Metadata.Name, o.Spec.ServiceName)
			}
			if o.Kind == "Deployment" && o.Spec.Strategy.Type != "Recreate" {
				t.Errorf("%s: two versions would run at once", o.Metadata.Name)
			}
		default:
			t.Errorf("unknown kind %s", o.Kind)
		}
	}
}

func isPartOf(some, all map[string]string) bool {
	for key, v := range some {
		if all[key] != v {
			return false
		}
	}
	return len(some) > 0
}

func portNames(c *container) (names []string) {
	for _, p := range c.Ports {
		names = append(names, p.Name)
	}
	return names
}

// TestKubernetesPods: the commands of the pods exist, as do the secrets, config maps, volumes and ports that they name; each has its
// probes, limits, and no more rights than it needs.
func TestKubernetesPods(t *testing.T) {
	c := readCluster(t)
	pods := 0
	for i := range c.objects {
		o := &c.objects[i]
		spec := &o.Spec.Template.Spec
		if len(spec.Containers) == 0 {
			continue
		}
		pods++
		t.Run(o.Metadata.Name, func(t *testing.T) {
			volumes := map[string]bool{}
			for _, v := range o.Spec.VolumeClaimTemplates {
				volumes[v.Metadata.Name] = v.Spec.Resources.Requests["storage"] != "" && len(v.Spec.AccessModes) > 0
			}
			for _, v := range spec.Volumes {
				isGenerated := slices.ContainsFunc(c.ConfigMaps, func(g generator) bool { return g.Name == v.ConfigMap.Name })
				volumes[v.Name] = v.EmptyDir != nil || isGenerated
			}
			security := spec.SecurityContext
			if !security.RunAsNonRoot || security.RunAsUser == 0 || security.SeccompProfile.Type != "RuntimeDefault" || spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
				t.Errorf("the rights of the pod: %+v", security)
			}
			for j := range spec.Containers {
				c.checkContainer(t, &spec.Containers[j], volumes)
			}
			if o.Metadata.Labels["app"] == "scheduler" && (spec.EnableServiceLinks == nil || *spec.EnableServiceLinks) {
				t.Error("variables such as SCHEDULER_PORT would be read as settings")
			}
		})
	}
	if pods != 4 {
		t.Errorf("%d pods", pods)
	}
}

func (c *cluster) checkContainer(t *testing.T, one *container, volumes map[string]bool) {
	t.Helper()
	for _, m := range one.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("there is no volume %s", m.Name)
		}
		if m.SubPath != "" && m.SubPath != filepath.Base(m.MountPath) {
			t.Errorf("%s is mounted at %s", m.SubPath, m.MountPath)
		}
	}
	for _, e := range one.Env {
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" && (ref.Name != c.Secrets[0].Name || !slices.Contains(c.secret, ref.Key)) {
			t.Errorf("%s is of an unknown secret: %+v", e.Name, ref)
		}
		for _, used := range regexp.MustCompile(`\$\((\w+)\)`).FindAllStringSubmatch(e.Value, -1) {
			isBefore := false
			for _, other := range one.Env {
				if other.Name == e.Name {
					break
				}
				isBefore = isBefore || other.Name == used[1]
			}
			if !isBefore {
				t.Errorf("%s uses %s, which is not set before it", e.Name, used[1])
			}
		}
	}
	for _, from := range one.EnvFrom {
		if from.SecretRef.Name != c.Secrets[0].Name {
			t.Errorf("there is no secret %s", from.SecretRef.Name)
		}
	}
	isOurs := strings.HasPrefix(one.Image, "ghcr.io/callnode/scheduler")
	for kind, p := range map[string]*probe{"startup": one.StartupProbe, "liveness": one.LivenessProbe, "readiness": one.ReadinessProbe} {
		switch {
		case p == nil:
			t.Errorf("there is no %s probe", kind)
		case p.HTTPGet != nil:
			if c.paths[p.HTTPGet.Path] == nil || !slices.Contains(portNames(one), p.HTTPGet.Port) {
				t.Errorf("the %s probe asks for %+v", kind, *p.HTTPGet)
			}
		case isOurs:
			t.Errorf("the %s probe does not ask the program", kind)
		case p.TCPSocket != nil && !slices.Contains(portNames(one), p.TCPSocket.Port):
			t.Errorf("the %s probe connects to %s", kind, p.TCPSocket.Port)
		}
	}
	if limits := one.Resources; limits.Requests["cpu"] == "" || limits.Requests["memory"] == "" || limits.Limits["memory"] == "" {
		t.Errorf("the resources are %+v", limits)
	}
	if s := one.SecurityContext; s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) || isOurs && !s.ReadOnlyRootFilesystem {
		t.Errorf("the rights of the container: %+v", s)
	}
	if !isOurs {
		return
	}
	root := newRoot(&app{Terminal: &terminal.Terminal{}})
	cmd, rest, err := root.Find(one.Args)
	if err != nil || cmd == root {
		t.Errorf("there is no command %q: %v", one.Args, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%q: %v", one.Args, err)
	}
}
