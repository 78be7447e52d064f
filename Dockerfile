# The operator's image: two static binaries that were compiled beforehand, so that a build neither downloads nor runs
# anything. The build context holds them: manager is the operator, which runs agent as its command of that name.
#
#	CGO_ENABLED=0 go build -trimpath -o context/manager ./operator
#	CGO_ENABLED=0 go build -trimpath -tags nethttpomithttp2 -o context/agent ./operator/agent/main
#	buildah bud -f Dockerfile context
#
# `go run ./hack/image build operator` does all of it with whichever builder works.
FROM scratch

ARG VERSION
LABEL org.opencontainers.image.title="memcached-operator"
LABEL org.opencontainers.image.description="Runs Memcached caches on Kubernetes"
LABEL org.opencontainers.image.version="${VERSION}"
LABEL org.opencontainers.image.source="https://github.com/example/memcached-operator"
LABEL org.opencontainers.image.licenses="Apache-2.0"

COPY manager agent /
# A number, because Kubernetes cannot tell whether a named user is root.
USER 65532:65532
ENTRYPOINT ["/manager"]
