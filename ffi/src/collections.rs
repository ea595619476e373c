//! What the library hands over by the piece: bytes and lists of text.

use std::any::Any;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, to_c};

/// Bytes that the library hands over; a NUL that does not count follows them.
pub struct zkr_buffer {
    _opaque: [u8; 0],
}

pub(crate) struct Buffer(Vec<u8>);

impl Object for Buffer {
    type Opaque = zkr_buffer;
    const NAME: &'static str = "zkr_buffer";
}

impl Buffer {
    pub(crate) fn new(mut bytes: Vec<u8>) -> Buffer {
        bytes.push(0);
        Buffer(bytes)
    }

    pub(crate) fn as_ptr(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

/// The bytes; never NULL, also when there are none. Valid until the buffer is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_buffer_data(buffer: *const zkr_buffer) -> *const c_void {
    guard::answer(c"".as_ptr().cast(), || {
        handle::get_anywhere::<Buffer>(buffer).map(|buffer| buffer.0.as_ptr().cast())
    })
}

/// How many bytes there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_buffer_size(buffer: *const zkr_buffer) -> usize {
    guard::answer(0, || handle::get_anywhere::<Buffer>(buffer).map(|buffer| buffer.0.len() - 1))
}

/// The bytes as a string, for text such as a path. Valid until the buffer is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_buffer_text(buffer: *const zkr_buffer) -> *const c_char {
    zkr_buffer_data(buffer).cast()
}

/// Frees a buffer. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_buffer_free(buffer: *mut zkr_buffer) {
    guard::quietly(|| drop(handle::take::<Buffer>(buffer)));
}

/// A value with its version, which is NULL where there is none: the end of reading it, and every change while it is
/// watched. A status other than ZKR_OK is the end: the error says why no more will be told. value and error are only lent
/// for the callback.
pub type zkr_versioned_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        value: *const zkr_buffer,
        version: i32,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// A list of strings.
pub struct zkr_strings {
    _opaque: [u8; 0],
}

pub(crate) struct Strings(Vec<CString>);

impl Object for Strings {
    type Opaque = zkr_strings;
    const NAME: &'static str = "zkr_strings";
}

impl Strings {
    pub(crate) fn new(texts: Vec<String>) -> Strings {
        Strings(texts.iter().map(|text| to_c(text)).collect())
    }
}

/// Makes a list of copies of these strings, for libraries that answer as this one does. Free it with zkr_strings_free; NULL
/// if one of them is NULL or not UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_strings_new(texts: *const *const c_char, count: usize) -> *mut zkr_strings {
    guard::answer(std::ptr::null_mut(), || {
        handle::publish(Strings::new(input::texts("texts", texts, count).ok()?)).ok()
    })
}

/// How many strings there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_strings_count(strings: *const zkr_strings) -> usize {
    guard::answer(0, || handle::get_anywhere::<Strings>(strings).map(|strings| strings.0.len()))
}

/// One string, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_strings_get(strings: *const zkr_strings, index: usize) -> *const c_char {
    guard::answer(std::ptr::null(), || {
        handle::get_anywhere::<Strings>(strings)?.0.get(index).map(|text| text.as_ptr())
    })
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_strings_free(strings: *mut zkr_strings) {
    guard::quietly(|| drop(handle::take::<Strings>(strings)));
}

/// A list of handles, each of which its caller takes; its functions are generated.
pub(crate) struct Several<H> {
    count: usize,
    all: Mutex<Vec<Option<Arc<H>>>>,
    /// Whether each can be taken once only: then the list keeps nothing of it.
    is_once: bool,
}

impl<H: Object> Several<H> {
    pub(crate) fn new(found: impl Iterator<Item = H>) -> Several<H> {
        let all: Vec<_> = found.map(|one| Some(Arc::new(one))).collect();
        Several { count: all.len(), all: Mutex::new(all), is_once: false }
    }

    pub(crate) fn once(found: impl Iterator<Item = H>) -> Several<H> {
        Several { is_once: true, ..Several::new(found) }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn take(&self, index: usize) -> Option<*mut H::Opaque> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let one = all.get_mut(index)?;
        let taken = if self.is_once { one.take() } else { one.clone() };
        drop(all);
        handle::share(taken?).ok()
    }
}

/// A list of structs; its functions are generated.
pub(crate) struct List<E> {
    entries: Vec<E>,
    // What the entries point into.
    texts: Texts,
}

// SAFETY: the pointers of the entries lead into what is kept beside them, which never changes.
unsafe impl<E> Send for List<E> {}
unsafe impl<E> Sync for List<E> {}

/// What the entries of a list point to: text, bytes, and lists of their own.
#[derive(Default)]
pub(crate) struct Texts(Vec<CString>, Vec<Vec<u8>>, Vec<Box<dyn Any>>);

impl Texts {
    pub(crate) fn keep(&mut self, text: &str) -> *const c_char {
        self.0.push(to_c(text));
        self.0[self.0.len() - 1].as_ptr()
    }

    /// Bytes, and a NUL that does not count.
    pub(crate) fn keep_bytes(&mut self, bytes: &[u8]) -> *const c_void {
        self.1.push([bytes, &[0]].concat());
        self.1[self.1.len() - 1].as_ptr().cast()
    }

    pub(crate) fn keep_list<E: 'static>(&mut self, entries: Vec<E>) -> *const E {
        let at = entries.as_ptr();
        self.2.push(Box::new(entries));
        at
    }
}

impl<E> List<E> {
    pub(crate) fn new<T>(found: &[T], entry: impl Fn(&T, &mut Texts) -> E) -> List<E> {
        let mut texts = Texts::default();
        let entries = found.iter().map(|one| entry(one, &mut texts)).collect();
        List { entries, texts }
    }

    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn find<T>(&self, known: impl FnMut(&E) -> Option<T>) -> Option<T> {
        self.entries.iter().find_map(known)
    }

    /// What was kept beside the entry, where each entry keeps one such list of one.
    pub(crate) fn beside<T: 'static>(&self, index: usize) -> Option<&T> {
        self.texts.2.get(index)?.downcast_ref::<Vec<T>>()?.first()
    }

    pub(crate) fn entry(&self, index: usize) -> Option<*const E> {
        self.entries.get(index).map(std::ptr::from_ref)
    }
}
