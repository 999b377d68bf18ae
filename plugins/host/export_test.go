package host

import "context"

// WithoutSession has a plugin's process ask by unary requests from now on.
func WithoutSession(ctx context.Context, h *Host, name string) error {
	proc, err := h.plugins[name].acquire(ctx)
	if err == nil {
		proc.session.close()
		proc.session = nil
	}
	return err
}
