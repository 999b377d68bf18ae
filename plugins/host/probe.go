package host

import (
	"context"

	"github.com/callnode/scheduler/plugins/manifest"
)

// Probe is a conformance suite's access to one plugin of a host, beyond the access of flows. [Host.Probe] makes
// it. It is safe for concurrent use.
type Probe struct{ plugin *plugin }

// Probe returns the probe of a trusted plugin; nil for another name.
func (h *Host) Probe(name string) *Probe {
	if p := h.plugin(name); p != nil {
		return &Probe{p}
	}
	return nil
}

// Entry returns the trusted entry of the plugin.
func (p *Probe) Entry() *manifest.Entry { return p.plugin.entry }

// Limits returns the limits of the plugin.
func (p *Probe) Limits() manifest.Limits { return p.plugin.limits }

// Options returns the options of the host, with their defaults.
func (p *Probe) Options() Options { return p.plugin.opts }

// Instance returns the running instance, and starts one if there is none.
func (p *Probe) Instance(ctx context.Context) (*Instance, error) {
	return p.plugin.acquireInstance(ctx)
}

// TakeInstance returns the running instance, which the host does not use any more: the
// caller has to stop it.
func (p *Probe) TakeInstance(ctx context.Context) (*Instance, error) {
	return p.plugin.takeInstance(ctx)
}

// ResetFailures forgets failures, so that a plugin that failed is started again at once.
func (p *Probe) ResetFailures() { p.plugin.resetFailures() }
