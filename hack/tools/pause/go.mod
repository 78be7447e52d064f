module github.com/example/memcached-operator/hack/tools/pause

go 1.26.0
