// What Prometheus' own client of remote read makes of the chunks of a server, beside its samples.
// Arguments: the address of remote read, first and last time in milliseconds, and a regular
// expression of names. It is built within the module of remote.sh, which has all that it needs.
package main

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"strconv"
	"time"

	config "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

func main() {
	address, err := url.Parse(os.Args[1])
	must(err)
	first, err := strconv.ParseInt(os.Args[2], 10, 64)
	must(err)
	last, err := strconv.ParseInt(os.Args[3], 10, 64)
	must(err)
	matcher := labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, os.Args[4])
	query, err := remote.ToQuery(first, last, []*labels.Matcher{matcher}, nil)
	must(err)
	chunks, floats, histograms := read(address, query, prompb.ReadRequest_STREAMED_XOR_CHUNKS)
	samples, _, _ := read(address, query, prompb.ReadRequest_SAMPLES)
	if len(chunks) != len(samples) {
		must(fmt.Errorf("%d samples in chunks, %d by themselves", len(chunks), len(samples)))
	}
	for at := range chunks {
		if chunks[at] != samples[at] {
			must(fmt.Errorf("in chunks     %s\nby themselves %s", chunks[at], samples[at]))
		}
	}
	fmt.Printf("%d numbers, %d histograms\n", floats, histograms)
}

// read tells all samples of an answer of this kind, and how many are numbers and histograms.
func read(address *url.URL, query *prompb.Query, kind prompb.ReadRequest_ResponseType) (lines []string, floats, histograms int) {
	remote.AcceptedResponseTypes = []prompb.ReadRequest_ResponseType{kind}
	client, err := remote.NewReadClient("foliot", &remote.ClientConfig{
		URL:              &config.URL{URL: address},
		Timeout:          model.Duration(time.Minute),
		ChunkedReadLimit: 50_000_000,
	})
	must(err)
	set, err := client.Read(context.Background(), query, true)
	must(err)
	var it chunkenc.Iterator
	for set.Next() {
		series := set.At()
		it = series.Iterator(it)
		for found := it.Next(); found != chunkenc.ValNone; found = it.Next() {
			line := ""
			switch found {
			case chunkenc.ValFloat:
				at, value := it.At()
				line = fmt.Sprintf("%d %x", at, math.Float64bits(value))
				floats++
			case chunkenc.ValHistogram:
				at, value := it.AtHistogram(nil)
				line = fmt.Sprintf("%d %s %t", at, value, value.CounterResetHint == histogram.GaugeType)
				histograms++
			case chunkenc.ValFloatHistogram:
				at, value := it.AtFloatHistogram(nil)
				line = fmt.Sprintf("%d %s %t", at, value, value.CounterResetHint == histogram.GaugeType)
				histograms++
			}
			lines = append(lines, series.Labels().String()+" "+line)
		}
		must(it.Err())
	}
	must(set.Err())
	return lines, floats, histograms
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
