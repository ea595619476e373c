//! Queues: what scenarios cannot say.

#[path = "../support/mod.rs"]
mod support;

mod access;
mod call_order;
mod claims_taken_away;
mod closing;
mod failing;
mod foreign_items;
mod keys;
mod kinds;
mod leaving;
mod lost_requests;
mod put_back;
mod puts_under_way;
mod putting;
mod requests;
mod returning_names;
mod sharded;
mod taking;
mod unseen_claims;
mod waiting;

use std::time::Duration;

use support::{eventually, nodes_under, options};
use zkrecipes::{Backlog, Client, DelayQueue, Error, PriorityQueue, Queue, QueueOptions, RetryOptions};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/queues/faults";
const TEN: Duration = Duration::from_secs(10);

fn queue_of(client: &Client) -> Queue {
    client.queue(PATH, QueueOptions::default()).expect("valid")
}

fn bounded(client: &Client, most: usize) -> Queue {
    client.queue(PATH, QueueOptions::default().max_items(most)).expect("valid")
}

#[derive(Copy, Clone, Debug, PartialEq)]
enum Kind {
    Plain,
    Priority,
    Delay,
    Shards,
    /// There is room for so many.
    Bounded(usize),
}

/// A queue of any kind.
#[derive(Clone)]
enum Any {
    Plain(Queue),
    Priority(PriorityQueue),
    Delay(DelayQueue),
}

impl Any {
    fn of(kind: Kind, client: &Client, path: &str) -> Any {
        let options = QueueOptions::default();
        let any = match kind {
            Kind::Plain => client.queue(path, options).map(Any::Plain),
            Kind::Shards => client.queue(path, options.shards(2)).map(Any::Plain),
            Kind::Bounded(most) => client.queue(path, options.max_items(most)).map(Any::Plain),
            Kind::Priority => client.priority_queue(path, options).map(Any::Priority),
            Kind::Delay => client.delay_queue(path, options).map(Any::Delay),
        };
        any.expect("valid")
    }

    fn backlog(&self) -> &Backlog {
        match self {
            Any::Plain(queue) => queue,
            Any::Priority(queue) => queue,
            Any::Delay(queue) => queue,
        }
    }

    async fn put_within(&self, data: &str, limit: Duration) -> Result<(), Error> {
        match self {
            Any::Plain(queue) => queue.put_timeout(data.as_bytes(), limit).await,
            Any::Priority(queue) => queue.put_timeout(data.as_bytes(), 7, limit).await,
            Any::Delay(queue) => queue.put_timeout(data.as_bytes(), Duration::ZERO, limit).await,
        }
    }
}

/// How long the servers of an impatient client may be silent.
const BUDGET: Duration = Duration::from_millis(700);

/// A client that gives up on silent servers soon, and asks them often until then.
async fn impatient(server: &Server) -> Client {
    let pauses = RetryOptions::default().base(Duration::from_millis(10)).max(Duration::from_millis(50));
    let retry = pauses.give_up_after(BUDGET);
    Client::connect(&server.connect_string(), options(TEN).retry(retry)).await.expect("connected")
}

fn multi_is_applied_and_then_nothing_is_heard(server: &Server, client: &Client) {
    server.inject(Fault::drop_after("multi").session(client.session_id()));
    server.inject(Fault::refuse_connections(1).forever());
}

/// Marks and claims are gone; what remains are items and parents. What is kept for the next call goes after a while.
async fn assert_tidy(server: &Server) {
    let is_ours =
        |node: &String| node.contains("/_c_") || node.contains("/claims/") || node.contains("/waiting/");
    eventually("nothing of ours is left", || !nodes_under(server, "/queues").iter().any(is_ours)).await;
    eventually("no watch is left", || server.watch_count() == 0).await;
}

/// The requests since the log was cleared, without those of looking for what others may have left.
fn asked(server: &Server) -> Vec<String> {
    requests_of(server, |_| true)
}

/// The same, of one client.
fn asked_by(server: &Server, client: &Client) -> Vec<String> {
    let session = client.session_id();
    requests_of(server, |other| other == session)
}

fn requests_of(server: &Server, is_wanted: impl Fn(u64) -> bool) -> Vec<String> {
    // Also without the word about what it holds that a holder asks its server for.
    let is_sweep = |op: &str, path: &str| {
        path == "/"
            || (op != "multi" && path.contains("/marks"))
            || (op == "exists" && path.contains("/claims/"))
    };
    let log = server.log();
    let of_interest = log.iter().filter(|entry| {
        entry.op != "ping" && !is_sweep(entry.op, &entry.path) && is_wanted(entry.session_id)
    });
    of_interest.map(|entry| entry.op.to_string()).collect()
}
