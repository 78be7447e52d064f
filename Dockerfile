# The operator's image: one static binary that was compiled beforehand, so that a build neither downloads nor runs
# anything. The build context holds that binary under the name manager:
#
#	CGO_ENABLED=0 go build -trimpath -o context/manager ./operator
#	buildah bud -f Dockerfile context
#
# `go run ./hack/image build operator` does both with whichever builder works.
FROM scratch

ARG VERSION
LABEL org.opencontainers.image.title="memcached-operator"
LABEL org.opencontainers.image.description="Runs Memcached caches on Kubernetes"
LABEL org.opencontainers.image.version="${VERSION}"
LABEL org.opencontainers.image.source="https://github.com/example/memcached-operator"
LABEL org.opencontainers.image.licenses="Apache-2.0"

COPY manager /manager
# A number, because Kubernetes cannot tell whether a named user is root.
USER 65532:65532
ENTRYPOINT ["/manager"]
