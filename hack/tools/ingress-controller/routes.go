package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/rs/zerolog/log"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/middlewares/requestdecorator"
	muxer "github.com/traefik/traefik/v3/pkg/muxer/http"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/ingress"
	"github.com/traefik/traefik/v3/pkg/server/service/loadbalancer/wrr"
)

// dialTimeout is how long a pod may take to accept a connection, as in Traefik.
const dialTimeout = 30 * time.Second

// toPods keeps connections to pods open between requests, as ingress controllers do.
var toPods = &http.Transport{
	DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
	MaxIdleConnsPerHost: 200,
	IdleConnTimeout:     90 * time.Second,
}

// routes returns the handler of a configuration.
func routes(ctx context.Context, configuration *dynamic.HTTPConfiguration) (http.Handler, error) {
	parser, err := muxer.NewSyntaxParser()
	if err != nil {
		return nil, fmt.Errorf("make the parser of rules: %w", err)
	}
	all := muxer.NewMuxer(parser, nil)
	for name, router := range configuration.Routers {
		service, err := balance(configuration.Services[router.Service])
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", router.Service, err)
		}
		priority := cmp.Or(router.Priority, muxer.GetRulePriority(router.Rule))
		if err := all.AddRoute(router.Rule, router.RuleSyntax, priority, ingress.ProviderName, service); err != nil {
			return nil, fmt.Errorf("router %s: %w", name, err)
		}
		log.Ctx(ctx).Info().Str("rule", router.Rule).Msg("A route is served")
	}
	decorate := requestdecorator.New(nil) // The rules for hosts read what it adds to a request.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { decorate.ServeHTTP(w, r, all.ServeHTTP) }), nil
}

// balance returns the handler that sends requests to the pods of a service in turn.
func balance(service *dynamic.Service) (http.Handler, error) {
	balancer := wrr.New(nil, false)
	for _, server := range service.LoadBalancer.Servers {
		address, err := url.Parse(server.URL)
		if err != nil {
			return nil, fmt.Errorf("address of a pod: %w", err)
		}
		balancer.AddServer(server.URL, proxy(address), server)
	}
	return balancer, nil
}

// proxy sends requests to one pod, with the host that the client asked for.
func proxy(pod *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Transport: toPods,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(pod)
			r.SetXForwarded()
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			log.Warn().Err(err).Str("pod", pod.Host).Str("host", r.Host).Msg("A pod does not answer")
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}
