package host

import "context"

// WithoutSession makes a plugin's process answer by unary requests from now on.
func WithoutSession(ctx context.Context, h *Host, name string) error {
	instance, err := h.plugin(name).acquireInstance(ctx)
	if err == nil {
		instance.session.Close()
		instance.session = nil
	}
	return err
}
