//! What C does with values, done from Rust, where Miri sees every pointer (`make miri`): it makes and reads them, frees them
//! once and twice, and gives what is NULL, too short, too long, or something else.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cancel::*;
use crate::client::*;
use crate::collections::*;
use crate::error::*;
use crate::events::*;
use crate::followed::zkr_entry;
use crate::handle;
use crate::held::copy_tokens;
use crate::items::zkr_payload;
use crate::lists::*;
use crate::log::{zkr_log, zkr_on_log};
use crate::metrics::{zkr_metric, zkr_metrics_value};
use crate::nodes::zkr_stat;
use crate::options::{zkr_auth, zkr_options};
use crate::services::{service, zkr_service};
use crate::sized::SelfSized;
use crate::{input, log};

/// What C reads.
fn text<'a>(at: *const c_char) -> &'a str {
    assert!(!at.is_null());
    // SAFETY: the library promises text that ends with NUL; the tests free it afterwards.
    unsafe { CStr::from_ptr(at) }.to_str().expect("UTF-8")
}

/// So many bytes, and the NUL behind them.
fn with_nul<'a>(at: *const c_void, size: usize) -> &'a [u8] {
    // SAFETY: the library promises a NUL behind what it hands over.
    unsafe { std::slice::from_raw_parts(at.cast(), size + 1) }
}

/// An enum from C, where it is a number.
fn given<T>(number: i32) -> T {
    assert_eq!(size_of::<T>(), size_of::<i32>());
    // SAFETY: types that are given so take any number.
    unsafe { std::mem::transmute_copy(&number) }
}

#[test]
fn an_error_is_made_read_and_freed() {
    let error = zkr_error_new(given(5), c"it is gone".as_ptr(), c"/a".as_ptr());
    assert_eq!((zkr_error_code(error) as i32, text(zkr_error_message(error))), (5, "it is gone"));
    assert_eq!((text(zkr_error_path(error)), zkr_error_put(error)), ("/a", -1));
    assert!(!zkr_error_retryable(error));
    assert_eq!(zkr_error_reason(error), zkr_reason::ZKR_REASON_NONE);
    zkr_error_free(error);
    for none in [error, null_mut(), std::ptr::without_provenance_mut(usize::MAX)] {
        assert_eq!(zkr_error_code(none) as i32, 0);
        assert_eq!(text(zkr_error_message(none)), "no error");
        assert!(zkr_error_path(none).is_null());
        zkr_error_free(none);
    }
    assert!(zkr_error_new(given(0), c"none".as_ptr(), null()).is_null());
    assert!(zkr_error_new(given(5), null(), null()).is_null());
    assert!(zkr_error_new(given(5), c"\xff".as_ptr(), null()).is_null());
    assert_eq!(text(zkr_status_name(given(-7))), "UNKNOWN");
}

#[test]
fn strings_are_copied_and_freed() {
    let list = {
        let (first, second) = (c"one".to_owned(), c"".to_owned());
        let texts = [first.as_ptr(), second.as_ptr()];
        zkr_strings_new(texts.as_ptr(), texts.len())
    };
    assert_eq!(zkr_strings_count(list), 2);
    assert_eq!([0, 1].map(|index| text(zkr_strings_get(list, index))), ["one", ""]);
    assert!(zkr_strings_get(list, 2).is_null() && zkr_strings_get(list, usize::MAX).is_null());
    // Of another kind, it is not touched.
    zkr_buffer_free(list.cast());
    assert_eq!(zkr_strings_count(list), 2);
    zkr_strings_free(list);
    zkr_strings_free(list);
    assert_eq!(zkr_strings_count(list), 0);
    let none = zkr_strings_new(null(), 0);
    assert_eq!(zkr_strings_count(none), 0);
    zkr_strings_free(none);
    assert!(zkr_strings_new(null(), 1).is_null());
    assert!(zkr_strings_new([null()].as_ptr(), 1).is_null());
}

#[test]
fn a_buffer_has_its_bytes_and_a_nul() {
    for bytes in [&b""[..], b"/path", b"\0\xff"] {
        let buffer = handle::publish(Buffer::new(bytes.to_vec())).expect("room");
        assert_eq!(zkr_buffer_size(buffer), bytes.len());
        assert_eq!(with_nul(zkr_buffer_data(buffer), bytes.len()), [bytes, b"\0"].concat());
        assert_eq!(zkr_buffer_text(buffer).cast(), zkr_buffer_data(buffer));
        zkr_buffer_free(buffer);
        assert_eq!((zkr_buffer_size(buffer), text(zkr_buffer_text(buffer))), (0, ""));
        zkr_buffer_free(buffer);
    }
}

/// What an entry points to stands beside it, whatever else the list keeps.
#[test]
fn the_entries_of_lists_point_to_what_the_list_keeps() {
    let found: Vec<Vec<u8>> = (0..20u8).map(|n| vec![n; usize::from(n)]).collect();
    let payloads: Payloads =
        List::new(&found, |data, texts| zkr_payload { data: texts.keep_bytes(data), size: data.len() });
    let payloads = handle::publish(payloads).expect("room");
    assert_eq!(zkr_payloads_count(payloads), found.len());
    for (index, data) in found.iter().enumerate() {
        // SAFETY: an entry of a list that is not freed.
        let one = unsafe { &*zkr_payloads_get(payloads, index) };
        assert_eq!(with_nul(one.data, one.size), [&data[..], b"\0"].concat());
    }
    assert!(zkr_payloads_get(payloads, found.len()).is_null());
    zkr_payloads_free(payloads);
    assert!(zkr_payloads_get(payloads, 0).is_null());

    let numbers = ["a", "b"].map(|name| (name.to_owned(), 1.5));
    let metrics: Metrics =
        List::new(&numbers, |(name, value), texts| zkr_metric { name: texts.keep(name), value: *value });
    let metrics = handle::publish(metrics).expect("room");
    assert_eq!(zkr_metrics_value(metrics, c"b".as_ptr()).to_bits(), 1.5f64.to_bits());
    assert!(zkr_metrics_value(metrics, c"c".as_ptr()).is_nan());
    assert!(zkr_metrics_value(metrics, null()).is_nan());
    zkr_metrics_free(metrics);
}

/// As the sites of a transaction's status are kept.
#[test]
fn a_list_in_an_entry_of_a_list_stands() {
    let found = [vec!["one", "two"], vec![], vec!["three"]];
    let entries: Entries = List::new(&found, |names, texts| {
        let inner: Vec<*const c_char> = names.iter().map(|name| texts.keep(name)).collect();
        zkr_entry {
            name: texts.keep("outer"),
            data: texts.keep_list(inner).cast(),
            size: names.len(),
            stat: zkr_stat::default(),
        }
    });
    let entries = handle::publish(entries).expect("room");
    for (index, names) in found.iter().enumerate() {
        // SAFETY: an entry of a list that is not freed, and the list that it points to.
        let told = unsafe {
            let entry = &*zkr_entries_get(entries, index);
            std::slice::from_raw_parts(entry.data.cast::<*const c_char>(), entry.size)
        };
        assert_eq!(told.iter().map(|at| text(*at)).collect::<Vec<_>>(), *names);
    }
    zkr_entries_free(entries);
}

/// What connecting says of these options, which are wrong.
fn refused(options: *const zkr_options) -> String {
    let (mut client, mut error) = (std::ptr::without_provenance_mut(1), null_mut());
    let status = zkr_client_connect(c"zk:2181".as_ptr(), options, &mut client, &mut error);
    assert_eq!((status as i32, client.is_null()), (7, true));
    let message = text(zkr_error_message(error)).to_owned();
    zkr_error_free(error);
    message
}

#[test]
fn options_are_read_as_far_as_their_size_goes() {
    let bad = zkr_options { session_timeout_ms: -1, ..zkr_options::defaults() };
    assert!(refused(&bad).contains("session_timeout_ms"));
    // Of an older header: there is nothing behind it.
    let mut old = vec![0u8; zkr_options::LEAST];
    let older = zkr_options { size: old.len(), ..bad };
    // SAFETY: the older struct is the beginning of this one.
    unsafe { std::ptr::copy_nonoverlapping((&raw const older).cast(), old.as_mut_ptr(), old.len()) };
    // Nobody promises more than that it begins with its size.
    assert!(refused(old.as_ptr().cast()).contains("session_timeout_ms"));
    // Of a newer one, with a field that is not set, and with one that is.
    for set in [0u8, 1] {
        #[repr(C)]
        struct Newer(zkr_options, [u8; 8]);
        let size = size_of::<Newer>();
        let newer = Newer(zkr_options { size, ..bad }, [0, 0, 0, 0, 0, 0, 0, set]);
        let said = refused((&raw const newer).cast());
        assert_eq!(said.contains("does not know"), set == 1, "{said}");
    }
    // Numbers that are no size are not followed.
    for size in [0, zkr_options::LEAST - 1, 4097, usize::MAX] {
        assert!(refused((&raw const size).cast()).contains("its size says"));
    }
    let scheme = c"digest".to_owned();
    let auth = |credential_size| zkr_auth {
        scheme: scheme.as_ptr(),
        credential: c"user:hunter2".as_ptr().cast(),
        credential_size,
    };
    let good = [auth(12), auth(0)];
    let with = |auth: &[zkr_auth], auth_count| {
        refused(&zkr_options { auth: auth.as_ptr(), auth_count, ..bad }) // The timeout is refused first, or the list.
    };
    assert!(with(&good, 2).contains("session_timeout_ms"));
    let said = refused(&zkr_options { auth: null(), auth_count: 2, ..zkr_options::defaults() });
    assert!(said.contains("auth"), "{said}");
    let endless = [auth(usize::MAX)];
    let said = refused(&zkr_options { auth: endless.as_ptr(), auth_count: 1, ..zkr_options::defaults() });
    assert!(said.contains("credential"), "{said}");
}

#[test]
fn a_service_is_copied() {
    let read = {
        let (name, id) = (c"web".to_owned(), c"1".to_owned());
        let given = zkr_service {
            name: name.as_ptr(),
            id: id.as_ptr(),
            address: c"host".as_ptr(),
            port: 80,
            ..zkr_service::defaults()
        };
        service(&given).expect("right")
    };
    assert_eq!((&read.name[..], &read.id[..], &read.address[..]), ("web", "1", "host"));
    assert_eq!((read.port, read.ssl_port), (Some(80), None));
    assert!(service(null()).is_err());
}

#[test]
fn arrays_are_copied_and_absurd_sizes_refused() {
    let (at, sizes) = ([b"ab".as_ptr().cast::<c_void>(), null()], [2, 0]);
    let many = input::many("items", at.as_ptr(), sizes.as_ptr(), 2).expect("right");
    assert_eq!(many, [b"ab".to_vec(), Vec::new()]);
    assert!(input::many("items", at.as_ptr(), null(), 2).is_err());
    assert!(input::many("items", at.as_ptr(), [2, 1].as_ptr(), 2).is_err());
    assert!(input::slice("numbers", [1u64].as_ptr(), usize::MAX / 8).is_err());
    // Room for fewer, for more, and for none.
    for room in [0, 1, 2, 5] {
        let mut tokens = vec![0; room];
        assert_eq!(copy_tokens(&[7, 8], tokens.as_mut_ptr(), room), 2);
        assert!(tokens.iter().zip([7, 8]).all(|(copied, token)| *copied == token));
    }
    assert_eq!(copy_tokens(&[7, 8], null_mut(), 9), 2);
}

#[test]
fn a_token_is_cancelled_and_freed() {
    let token = zkr_cancel_token_new();
    assert_eq!(zkr_cancel_token_cancel(token) as i32, 0);
    let (mut client, mut error) = (null_mut(), null_mut());
    let hosts = c"zk:2181".as_ptr();
    // It is looked at before anything is begun.
    let status = zkr_client_connect_cancellable(hosts, null(), token, &mut client, &mut error);
    assert_eq!((status as i32, text(zkr_status_name(given(status as i32)))), (2, "CANCELLED"));
    // An error that nobody has freed is not written over.
    let first = error;
    zkr_client_connect_cancellable(hosts, null(), token, &mut client, &mut error);
    assert_eq!(error, first);
    zkr_error_free(error);
    zkr_cancel_token_free(token);
    zkr_cancel_token_free(token);
    assert_ne!(zkr_cancel_token_cancel(token) as i32, 0);
}

struct Told {
    lines: Mutex<Vec<String>>,
    freed: AtomicUsize,
}

unsafe extern "C" fn hear(
    level: log::zkr_log_level,
    event: *const c_char,
    message: *const c_char,
    fields: *const log::zkr_log_field,
    count: usize,
    user_data: *mut c_void,
) {
    // SAFETY: as it was given, and not freed before this has returned.
    let (told, fields) =
        unsafe { (&*user_data.cast::<Told>(), input::slice("fields", fields, count).expect("some")) };
    let fields: String = fields.iter().map(|field| format!(" {}", text(field.name))).collect();
    let line = format!("{} {} {}{fields}", level as i32, text(event), text(message));
    told.lines.lock().expect("no panic").push(line);
}

unsafe extern "C" fn free(user_data: *mut c_void) {
    // SAFETY: as above.
    unsafe { &*user_data.cast::<Told>() }.freed.fetch_add(1, Ordering::Relaxed);
}

/// The library tells of it on a thread of its own.
#[test]
fn what_is_logged_is_lent_to_a_callback_until_it_is_freed() {
    let told = Box::new(Told { lines: Mutex::new(Vec::new()), freed: AtomicUsize::new(0) });
    let user_data = (&raw const *told).cast_mut().cast();
    let (mut subscription, mut error) = (null_mut(), null_mut());
    assert_eq!(zkr_on_log(given(2), Some(hear), user_data, &mut subscription, &mut error) as i32, 0);
    zkr_log(given(2), c"an_event".as_ptr(), c"a sentence".as_ptr());
    zkr_log(given(3), c"not_heard".as_ptr(), c"a sentence".as_ptr());
    zkr_log(given(2), null(), c"a sentence".as_ptr());
    zkr_log(given(77), c"an_event".as_ptr(), c"a sentence".as_ptr());
    while told.lines.lock().expect("no panic").is_empty() {
        std::thread::yield_now();
    }
    zkr_subscription_free_with(subscription, Some(free));
    zkr_subscription_free_with(subscription, Some(free));
    zkr_subscription_free(subscription);
    assert_eq!(told.freed.load(Ordering::Relaxed), 1);
    zkr_log(given(2), c"too_late".as_ptr(), c"a sentence".as_ptr());
    assert_eq!(*told.lines.lock().expect("no panic"), ["2 an_event a sentence"]);
    // Without a function it is refused.
    assert_ne!(zkr_on_log(given(2), None, null_mut(), null_mut(), &mut error) as i32, 0);
    zkr_error_free(error);
}
