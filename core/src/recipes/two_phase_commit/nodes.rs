//! Reading many nodes at once, of which some may not be there, or not for us. One that cannot be read or understood stops
//! nobody.

use crate::error::Result;
use crate::session::call::Call;
use crate::session::refusal::Failure;
use crate::session::wire::{CreateMode, Flight, Stat, WireError, Write};

const LIST: &str = "show";

/// Not so many at once that everybody else waits.
pub(super) const AT_ONCE: usize = 100;

/// What there is to know of a node.
pub(super) enum ReadNode {
    Missing,
    /// We may not read it.
    Denied,
    Told(Vec<u8>, Stat),
}

impl ReadNode {
    /// What it says, if it is there and we may read it.
    pub(super) fn data(self) -> Option<(Vec<u8>, Stat)> {
        match self {
            ReadNode::Told(data, stat) => Some((data, stat)),
            ReadNode::Missing | ReadNode::Denied => None,
        }
    }
}

/// What a node says.
pub(super) fn node(flight: Flight<(Vec<u8>, Stat)>) -> Flight<ReadNode> {
    Box::pin(async move {
        match flight.await {
            Ok((data, stat)) => Ok(ReadNode::Told(data, stat)),
            Err(WireError::NoNode) => Ok(ReadNode::Missing),
            Err(WireError::NoAuth) => Ok(ReadNode::Denied),
            Err(error) => Err(error),
        }
    })
}

/// Whether a node is there. One that we may not even ask for is.
pub(super) fn is_there(flight: Flight<Option<Stat>>) -> Flight<bool> {
    Box::pin(async move {
        match flight.await {
            Ok(stat) => Ok(stat.is_some()),
            Err(WireError::NoAuth) => Ok(true),
            Err(error) => Err(error),
        }
    })
}

/// How many children a node has. Of one that we may not ask for nothing is known, and others see to it.
pub(super) fn children_of(flight: Flight<Option<Stat>>) -> Flight<usize> {
    Box::pin(async move {
        match flight.await {
            Ok(stat) => Ok(stat.map_or(0, |stat| usize::try_from(stat.num_children).unwrap_or(0))),
            Err(WireError::NoAuth) => Ok(0),
            Err(error) => Err(error),
        }
    })
}

/// What each of them says.
pub(super) async fn each(call: &mut Call, verb: &str, nodes: &[String]) -> Result<Vec<ReadNode>> {
    let mut all = Vec::with_capacity(nodes.len());
    for some in nodes.chunks(AT_ONCE) {
        let asked = call.ask(verb, |server| {
            let flights: Vec<_> = some.iter().map(|path| node(server.get_data(path))).collect();
            all_of(flights)
        });
        all.extend(asked.await.map_err(|failure| failure.about(verb, &some[0]))?);
    }
    Ok(all)
}

/// The answers to requests that have left together.
pub(super) async fn all_of<T>(flights: Vec<Flight<T>>) -> Result<Vec<T>, WireError> {
    let mut answers = Vec::with_capacity(flights.len());
    for flight in flights {
        answers.push(flight.await?);
    }
    Ok(answers)
}

/// What a node says, if there is one.
pub(super) fn if_there<T: Send + 'static>(flight: Flight<T>) -> Flight<Option<T>> {
    Box::pin(async move {
        match flight.await {
            Err(WireError::NoNode) => Ok(None),
            answer => answer.map(Some),
        }
    })
}

/// The children behind a `sync`: one that has just come must not be taken for dead because this server lags.
pub(super) async fn names(call: &mut Call, path: &str) -> Result<Vec<String>> {
    let listed = call.ask(LIST, |server| {
        let (sync, list) = (server.sync(path), server.children(path));
        async move {
            sync.await?;
            list.await
        }
    });
    match listed.await {
        Err(Failure::Refused(WireError::NoNode)) => Ok(Vec::new()),
        names => names.map_err(|failure| failure.about(LIST, path)),
    }
}

/// A part that creates a node which outlasts us all.
pub(super) fn create(path: String, data: Vec<u8>) -> Write {
    Write::Create { path, data, mode: CreateMode::Persistent, acl: None }
}

/// Whether the server does not let us, which is so for one node and not for all.
pub(super) fn is_denied(failure: &Failure) -> bool {
    match failure {
        Failure::Refused(WireError::Part { error, .. }) => **error == WireError::NoAuth,
        failure => failure.is(&WireError::NoAuth),
    }
}
