// Command ingress-controller serves the Ingresses of one IngressClass on loopback. It is made of Traefik's parts: its provider for Ingresses,
// its rules, its balancer and its certificates, without the rest of Traefik, which has clients of all DNS providers. KUBECONFIG names
// the cluster.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
	ptypes "github.com/traefik/paerser/types"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/ingress"
	"github.com/traefik/traefik/v3/pkg/safe"
	traefiktls "github.com/traefik/traefik/v3/pkg/tls"
	"github.com/traefik/traefik/v3/pkg/tls/generate"
	"github.com/traefik/traefik/v3/pkg/types"
)

const (
	// throttle is how long Traefik waits by default until it takes note of the next change.
	throttle = 2 * time.Second
	// headerTimeout is how long a client may take to send the header of a request.
	headerTimeout = 10 * time.Second
	// grace is how long requests may take to end.
	grace = 5 * time.Second
)

func main() {
	class := flag.String("ingress-class", "", "name of the IngressClass")
	plain := flag.String("http", "127.0.0.1:8080", "address for HTTP")
	encrypted := flag.String("https", "127.0.0.1:8443", "address for HTTPS")
	flag.Parse()
	log.Logger = log.Level(zerolog.InfoLevel)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *class, *plain, *encrypted)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ingress-controller:", err)
		os.Exit(1)
	}
}

// controller serves what the Ingresses of the cluster say.
type controller struct {
	handler      atomic.Pointer[http.Handler]
	certificates *traefiktls.Manager
	// fallback is the certificate for unknown hosts. Without it, Traefik makes a new RSA key with each change of an Ingress or of its pods, and
	// all TLS handshakes wait meanwhile, for seconds where the CPUs are busy.
	fallback traefiktls.Certificate
}

// run serves until ctx ends.
func run(ctx context.Context, class, plain, encrypted string) error {
	certificate, key, err := generate.KeyPair(generate.DefaultDomain, time.Time{})
	if err != nil {
		return fmt.Errorf("make a certificate for unknown hosts: %w", err)
	}
	c := &controller{
		certificates: traefiktls.NewManager(nil),
		fallback:     traefiktls.Certificate{CertFile: types.FileOrContent(certificate), KeyFile: types.FileOrContent(key)},
	}
	c.use(http.NotFoundHandler())
	pool := safe.NewPool(ctx)
	defer pool.Stop()
	changes := make(chan dynamic.Message)
	provider := &ingress.Provider{IngressClass: class, ThrottleDuration: ptypes.Duration(throttle), StrictPrefixMatching: true}
	if err := provider.Provide(changes, pool); err != nil {
		return fmt.Errorf("read the cluster's Ingresses: %w", err)
	}
	pool.GoCtx(func(ctx context.Context) { c.follow(ctx, changes) })
	return c.serve(ctx, plain, encrypted)
}

// follow serves according to the latest configuration, until ctx ends.
func (c *controller) follow(ctx context.Context, changes <-chan dynamic.Message) {
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-changes:
			handler, err := routes(ctx, message.Configuration.HTTP)
			if err != nil {
				log.Error().Err(err).Msg("The configuration is not used")
				continue
			}
			c.useCertificates(ctx, message.Configuration.TLS)
			c.use(handler)
		}
	}
}

func (c *controller) use(handler http.Handler) { c.handler.Store(&handler) }

func (c *controller) useCertificates(ctx context.Context, configuration *dynamic.TLSConfiguration) {
	var certificates []*traefiktls.CertAndStores
	if configuration != nil {
		certificates = configuration.Certificates
	}
	options := map[string]traefiktls.Options{traefiktls.DefaultTLSConfigName: traefiktls.DefaultTLSOptions}
	stores := map[string]traefiktls.Store{traefiktls.DefaultTLSStoreName: {DefaultCertificate: &c.fallback}}
	c.certificates.UpdateConfigs(ctx, stores, options, certificates)
}

// ServeHTTP answers a request according to the latest configuration.
func (c *controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*c.handler.Load()).ServeHTTP(w, r)
}

// serve listens on both addresses until ctx ends. Then it completes the requests under way.
func (c *controller) serve(ctx context.Context, plain, encrypted string) error {
	insecure := &http.Server{Addr: plain, Handler: c, ReadHeaderTimeout: headerTimeout}
	secure := &http.Server{Addr: encrypted, Handler: c, ReadHeaderTimeout: headerTimeout, TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.certificates.Get(traefiktls.DefaultTLSStoreName, traefiktls.DefaultTLSConfigName)
		},
	}}
	ended := make(chan error, 2)
	go func() { ended <- insecure.ListenAndServe() }()
	go func() { ended <- secure.ListenAndServeTLS("", "") }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(err, insecure.Shutdown(ending), secure.Shutdown(ending))
}
