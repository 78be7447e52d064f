package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/bench/timeline"
)

func showTimeline() *cobra.Command {
	var file string
	watcher := &timeline.Watcher{}
	cmd := &cobra.Command{
		Use: "timeline", Short: "Show when what happens in a cluster, until it is interrupted, or a custom resource that it creates is Ready", Args: cobra.NoArgs,
	}
	cmd.Flags().StringSliceVar(&watcher.Namespaces, "namespace", []string{metav1.NamespaceDefault}, "namespaces to watch")
	cmd.Flags().StringVar(&file, "create", "", "file with a Memcached or an Application, which is created in the first namespace")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if len(watcher.Namespaces) == 0 {
			return errors.New("--namespace is empty: name one or more namespaces, or leave it out for default")
		}
		config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
		if err != nil {
			return fmt.Errorf("%w: set KUBECONFIG to that of a cluster", err)
		}
		config.QPS = -1
		if watcher.Client, err = client.NewWithWatch(config, client.Options{}); err != nil {
			return err
		}
		watcher.Out = cmd.OutOrStdout()
		act := func(context.Context) error { return nil }
		if file != "" {
			object, err := read(file)
			if err != nil {
				return err
			}
			object.SetNamespace(watcher.Namespaces[0])
			watcher.Until = func(seen *unstructured.Unstructured) bool { return seen.GetUID() == object.GetUID() && isReady(seen) }
			act = func(ctx context.Context) error {
				err := watcher.Client.Create(ctx, object)
				if apimeta.IsNoMatchError(err) {
					return fmt.Errorf("%w: install the operator first", err)
				}
				return err
			}
		}
		cmd.Printf("| s | object | |\n| --- | --- | --- |\n")
		watcher.Start = time.Now()
		return watcher.Run(cmd.Context(), act)
	}
	return cmd
}

// read reads an object.
func read(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(content, &object.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if object.GetKind() == "" || object.GetName() == "" {
		return nil, errors.New(file + " has no object: it needs apiVersion, kind and metadata.name")
	}
	return object, nil
}

// isReady tells whether the condition Ready of an object is True.
func isReady(object *unstructured.Unstructured) bool {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &status)
	return err == nil && apimeta.IsStatusConditionTrue(status.Status.Conditions, "Ready")
}
