package inject

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refuse answers with an error of the API server instead of sending the request.
func Refuse(refusal *apierrors.StatusError) Action {
	return func(request *http.Request, _ http.RoundTripper) (*http.Response, error) {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return answer(request, refusal)
	}
}

// answer makes the answer that the API server gives with an error.
func answer(request *http.Request, refusal *apierrors.StatusError) (*http.Response, error) {
	status := refusal.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	return &http.Response{
		StatusCode: int(status.Code), Status: http.StatusText(int(status.Code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}, nil
}

// errReset is the error of a connection that the other side has closed.
var errReset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// Reset fails the request as if the connection broke before it arrived.
func Reset(request *http.Request, _ http.RoundTripper) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, errReset
}

// LoseAnswer sends the request, and fails as if the connection broke before the answer arrived.
func LoseAnswer(request *http.Request, send http.RoundTripper) (*http.Response, error) {
	response, err := send.RoundTrip(request)
	if err != nil {
		return response, err
	}
	_ = response.Body.Close()
	return nil, errReset
}

// ReplaceAnswer sends the request, and answers with an error of the API server.
func ReplaceAnswer(refusal *apierrors.StatusError) Action {
	return func(request *http.Request, send http.RoundTripper) (*http.Response, error) {
		response, err := send.RoundTrip(request)
		if err != nil {
			return response, err
		}
		_ = response.Body.Close()
		return answer(request, refusal)
	}
}

// Before does something before the request is sent, for example as another client of the API server.
func Before(do func()) Action {
	return func(request *http.Request, send http.RoundTripper) (*http.Response, error) {
		do()
		return send.RoundTrip(request)
	}
}

// After does something after the request was answered, before the operator gets the answer.
func After(do func()) Action {
	return func(request *http.Request, send http.RoundTripper) (*http.Response, error) {
		response, err := send.RoundTrip(request)
		do()
		return response, err
	}
}
