// etcd's own lock and election: worker ADDRESS SESSION_MS. bench/README.md says what a worker is.
//
// Its sessions are leases, and mutexes of one session at one path are one owner: each waiter has a session of its own,
// over the same connection.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

var always = context.Background()

// order is a verb and its parameters.
type order struct {
	verb       string
	parameters map[string]string
}

func read(line string) order {
	words := strings.Fields(line)
	found := order{parameters: map[string]string{}}
	for number, word := range words {
		if number == 0 {
			found.verb = word
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		found.parameters[name] = value
	}
	return found
}

func (o order) path() string { return o.parameters["path"] }

func (o order) number(name string) int {
	number, err := strconv.Atoi(o.parameters[name])
	if err != nil {
		panic(fmt.Sprintf("%s of %s is no number", name, o.verb))
	}
	return number
}

type worker struct {
	client  *clientv3.Client
	seconds int
	// The first one does nearly everything; the others are those of waiters.
	sessions []*concurrency.Session

	held     *concurrency.Mutex
	waiting  sync.WaitGroup
	guard    sync.Mutex
	stamps   []int64
	failed   error
	election *concurrency.Election
	leads    chan int64
}

func main() {
	address := os.Args[1]
	milliseconds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fail(err)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{address},
		DialTimeout: time.Minute,
		Logger:      zap.NewNop(),
	})
	if err != nil {
		fail(err)
	}
	w := &worker{client: client, seconds: milliseconds / 1000, leads: make(chan int64, 1)}
	if err := w.have(1); err != nil {
		fail(err)
	}
	fmt.Printf("ready version=%s\n", version())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer, err := w.obey(read(lines.Text()))
		switch {
		case err != nil:
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " | "))
		case answer == "unsupported":
			fmt.Println(answer)
		default:
			fmt.Println("ok", answer)
		}
	}
	for _, session := range w.sessions {
		session.Close()
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "go.etcd.io/etcd/client/v3" {
			return module.Version
		}
	}
	return "unknown"
}

// now is the monotonic clock in nanoseconds, which all processes of a machine share.
func now() int64 {
	var time unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &time); err != nil {
		fail(err)
	}
	return time.Nano()
}

// have makes so many sessions, the first one included.
func (w *worker) have(count int) error {
	for len(w.sessions) < count {
		session, err := concurrency.NewSession(w.client, concurrency.WithTTL(w.seconds))
		if err != nil {
			return err
		}
		w.sessions = append(w.sessions, session)
	}
	return nil
}

func (w *worker) mutex(path string) *concurrency.Mutex {
	return concurrency.NewMutex(w.sessions[0], path)
}

func (w *worker) obey(o order) (string, error) {
	switch o.verb {
	case "lock":
		return w.lock(o)
	case "disjoint":
		return w.disjoint(o)
	case "hold":
		w.held = w.mutex(o.path())
		return "", w.held.Lock(always)
	case "drop":
		begun := now()
		return fmt.Sprintf("at=%d", begun), w.held.Unlock(always)
	case "queue":
		return "", w.queue(o)
	case "finish":
		w.waiting.Wait()
		stamps, failed := w.stamps, w.failed
		w.stamps, w.failed = nil, nil
		return listed("at", stamps), failed
	case "stand":
		return "", w.stand(o)
	case "elected":
		at := <-w.leads
		return fmt.Sprintf("at=%d", at), w.failed
	case "resign":
		begun := now()
		return fmt.Sprintf("at=%d", begun), w.election.Resign(always)
	}
	return "unsupported", nil
}

func (w *worker) lock(o order) (string, error) {
	mutex := w.mutex(o.path())
	var acquire, both []int64
	for i := 0; i < o.number("ops"); i++ {
		begun := now()
		if err := mutex.Lock(always); err != nil {
			return "", err
		}
		acquire = append(acquire, now()-begun)
		if err := mutex.Unlock(always); err != nil {
			return "", err
		}
		both = append(both, now()-begun)
	}
	return listed("acquire", acquire) + " " + listed("both", both), nil
}

func (w *worker) disjoint(o order) (string, error) {
	paths, pairs := o.number("paths"), o.number("ops")
	begun := now()
	for path := 0; path < paths; path++ {
		mutex := w.mutex(fmt.Sprintf("%s/%d", o.path(), path))
		w.waiting.Add(1)
		go func() {
			defer w.waiting.Done()
			for i := 0; i < pairs/paths; i++ {
				if w.failedBy(mutex.Lock(always)) || w.failedBy(mutex.Unlock(always)) {
					return
				}
			}
		}()
	}
	w.waiting.Wait()
	failed := w.failed
	w.failed = nil
	return fmt.Sprintf("took=%d", now()-begun), failed
}

// queue begins so many waiters; each acquires so many times, and lets go at once.
func (w *worker) queue(o order) error {
	waiters, times := o.number("waiters"), o.number("times")
	if err := w.have(waiters + 1); err != nil {
		return err
	}
	for _, session := range w.sessions[1 : waiters+1] {
		mutex := concurrency.NewMutex(session, o.path())
		w.waiting.Add(1)
		go func() {
			defer w.waiting.Done()
			for i := 0; i < times; i++ {
				if w.failedBy(mutex.Lock(always)) {
					return
				}
				w.guard.Lock()
				w.stamps = append(w.stamps, now())
				w.guard.Unlock()
				if w.failedBy(mutex.Unlock(always)) {
					return
				}
			}
		}()
	}
	return nil
}

func (w *worker) stand(o order) error {
	w.election = concurrency.NewElection(w.sessions[0], o.path())
	go func() {
		w.failedBy(w.election.Campaign(always, "bench"))
		w.leads <- now()
	}()
	return nil
}

// failedBy keeps the first error for the answer.
func (w *worker) failedBy(err error) bool {
	w.guard.Lock()
	defer w.guard.Unlock()
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return err != nil
}

func listed(name string, numbers []int64) string {
	words := make([]string, len(numbers))
	for i, number := range numbers {
		words[i] = strconv.FormatInt(number, 10)
	}
	return name + "=" + strings.Join(words, ",")
}
