//! What goes on changing, told as it changes: an iterator in the blocking face, an asynchronous one in asyncio.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;
use tokio::sync::{Mutex, OwnedMutexGuard};
use zkrecipes::{Result, drive};

use crate::answer::Answer;
use crate::client::Origin;
use crate::errors::{OrRaise, unmasked};
use crate::face::{Answered, Arg, Face, Fresh, Seed, two_faces};
use crate::generated::docs::doc_of;
use crate::owned::Owned;

/// A feed of the core that several may ask at a time, and that loses nothing when an answer finds nobody: because of a
/// signal, or because the task was cancelled when the item was on its way already.
struct Source<T> {
    state: Arc<Mutex<State<T>>>,
    closer: zkrecipes::Closer,
    is_closed: AtomicBool,
}

struct State<T> {
    feed: zkrecipes::Feed<T>,
    /// What left the core, found nobody, and is told first.
    not_received: Option<Result<T>>,
}

impl<T: Answer + Clone> Source<T> {
    async fn next(self: Arc<Self>) -> Result<Option<Item>> {
        let mut turn = Turn {
            state: Some(self.state.clone().lock_owned().await),
            source: self,
            process: drive::Process::present(),
        };
        if turn.source.is_closed() {
            return Ok(None);
        }
        let Some(state) = &mut turn.state else { return Ok(None) };
        let item = match state.not_received.take() {
            Some(item) => Some(item),
            None => state.feed.next().await,
        };
        Ok(item.map(|item| Box::new(OnItsWay { item: Some(item), turn }) as Item))
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Closed while somebody has the turn, the feed ends when the turn does.
    fn end_if_closed(&self) {
        if self.is_closed()
            && let Ok(mut state) = self.state.try_lock()
        {
            state.not_received = None;
            state.feed.close();
        }
    }
}

/// Whoever asks the feed, until the item has been received: what comes after it must not overtake it.
struct Turn<T: Answer + Clone> {
    state: Option<OwnedMutexGuard<State<T>>>,
    source: Arc<Source<T>>,
    process: drive::Process,
}

impl<T: Answer + Clone> Drop for Turn<T> {
    fn drop(&mut self) {
        let state = self.state.take();
        if !self.process.is_present() {
            // A forked child: the lock is the parent's.
            std::mem::forget(state);
            return;
        }
        drop(state);
        self.source.end_if_closed();
    }
}

type Item = Box<dyn Receive>;
type Next = Pin<Box<dyn Future<Output = Result<Option<Item>>> + Send>>;

/// A source of whatever items.
trait Pull: Send + Sync {
    fn pull(self: Arc<Self>) -> Next;
    fn close(&self);
}

impl<T: Answer + Clone> Pull for Source<T> {
    fn pull(self: Arc<Self>) -> Next {
        Box::pin(self.next())
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.closer.close();
        self.end_if_closed();
    }
}

/// An item on its way to somebody.
trait Receive: Send {
    fn receive(self: Box<Self>, py: Python<'_>) -> Answered;
}

/// Goes back where it came from if nobody receives it: an error, too.
struct OnItsWay<T: Answer + Clone> {
    item: Option<Result<T>>,
    turn: Turn<T>,
}

impl<T: Answer + Clone> Receive for OnItsWay<T> {
    fn receive(mut self: Box<Self>, py: Python<'_>) -> Answered {
        // Python code makes the object, and what a handler of a signal raises there is no answer: the item goes back then.
        let answer = match &self.item {
            Some(Ok(item)) => item.clone().answer(py)?,
            _ => py.None(),
        };
        let failure = self.item.take().and_then(Result::err);
        // The next one may ask.
        drop(self);
        failure.map_or(Ok(answer), Err).or_raise(py)
    }
}

impl<T: Answer + Clone> Drop for OnItsWay<T> {
    fn drop(&mut self) {
        if let (Some(item), Some(state)) = (self.item.take(), &mut self.turn.state) {
            state.not_received = Some(item);
        }
    }
}

#[doc = doc_of!(FeedBase)]
#[pyclass(frozen, subclass, weakref, name = "Feed", module = "zkrecipes._native")]
pub struct FeedBase {
    source: Owned<Arc<dyn Pull>>,
    origin: Owned<Origin>,
}

two_faces!(FeedBase, Feed);

impl FeedBase {
    /// What a verb of the core follows.
    pub fn follow<T: Answer + Clone>(
        py: Python<'_>,
        origin: &Origin,
        watch: impl FnOnce() -> Result<zkrecipes::Feed<T>>,
    ) -> Answered {
        let feed = origin.guard(watch).or_raise(py)?;
        let origin = origin.clone();
        let source: Arc<dyn Pull> = Arc::new(Source {
            closer: feed.closer(),
            state: Arc::new(Mutex::new(State { feed, not_received: None })),
            is_closed: AtomicBool::new(false),
        });
        FeedBase::hand_out(py, origin.face, || {
            FeedBase { source: source.into(), origin: origin.into() }.into()
        })
    }
}

#[pymethods]
impl FeedBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<FeedBase> {
        seed.get().take()
    }

    #[pyo3(name = "_next")]
    fn next(&self, py: Python<'_>) -> Answered {
        let (face, source) = (self.origin.face, self.source.clone());
        self.origin.run_to(
            py,
            || source.pull(),
            move |py, item| match (item, face) {
                (Some(item), _) => item.receive(py),
                (None, Face::Blocking) => Err(PyStopIteration::new_err(())),
                (None, Face::Asyncio) => Err(PyStopAsyncIteration::new_err(())),
            },
        )
    }

    /// Before the body of a scope begins.
    #[pyo3(name = "_check")]
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.origin.check().or_raise(py)
    }

    #[pyo3(name = "_close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.origin
            .guard(|| {
                self.source.close();
                Ok(())
            })
            .or_raise(py)
    }
}

#[doc = doc_of!(Feed)]
#[pyclass(frozen, generic, weakref, extends = FeedBase, module = "zkrecipes")]
pub struct Feed;

#[pymethods]
impl Feed {
    #[doc = doc_of!(Feed.close)]
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.as_super().get().close(slf.py())
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> Answered {
        slf.as_super().get().next(slf.py())
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        FeedBase::check(slf.as_super().get(), slf.py())?;
        Ok(slf)
    }

    fn __exit__(slf: &Bound<'_, Self>, kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        unmasked(slf.py(), !kind.is_none(), Feed::close(slf))
    }
}
