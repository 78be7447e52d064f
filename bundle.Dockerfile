# The bundle image: nothing but the files of one bundle directory, which is the build context:
#
#	buildah bud -f bundle.Dockerfile bundles/v0.1.0
#
# `go run ./hack/image build bundle` does this with whichever builder works. The labels repeat
# metadata/annotations.yaml; a test of hack/internal/bundle compares the two.
FROM scratch

LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=memcached-operator
LABEL operators.operatorframework.io.bundle.channels.v1=candidate,fast
LABEL operators.operatorframework.io.bundle.channel.default.v1=candidate
LABEL operators.operatorframework.io.test.mediatype.v1=scorecard+v1
LABEL operators.operatorframework.io.test.config.v1=tests/scorecard/

COPY manifests /manifests/
COPY metadata /metadata/
COPY tests/scorecard /tests/scorecard/
