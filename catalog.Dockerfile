# The catalog image: only the file-based catalog. OLM copies it out and serves it with an opm of its own (see
# grpcPodConfig.extractContent in olm/20-catalogsource.yaml), so nothing in it is ever run. The build context is a
# directory of rendered catalogs, one directory for each package:
#
#	buildah bud -f catalog.Dockerfile catalog
FROM scratch

LABEL operators.operatorframework.io.index.configs.v1=/configs

COPY memcached-operator /configs/memcached-operator/
