//! What a client counts of itself, and the nodes that it goes on without.

use std::ffi::c_char;

use crate::answers::Handed;
use crate::client::{self, zkr_client};
use crate::collections::{Buffer, List, zkr_buffer};
use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle;
use crate::input::{self, HandlePlace};
use crate::lists::{Metrics, zkr_entries, zkr_metrics};

/// One number of a client.
#[repr(C)]
pub struct zkr_metric {
    /// Such as "acquisitions", "losses.session", "waits.count", "waits.sum_ms", "waits.le_500" (how many took no longer than 500
    /// ms) and "lease_margin_min_ms" (-1 while nothing was held). docs/observability.md has all of them.
    pub name: *const c_char,
    pub value: f64,
}

/// What the client has done and seen since it connected, and how it stands, as a list of numbers with names. Asks no server,
/// and works for a closed client, too. Free it with zkr_metrics_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_metrics(
    client: *const zkr_client,
    metrics: *mut *mut zkr_metrics,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("metrics", metrics)?;
        let numbers = client::get(client)?.core.metrics().numbers();
        let entry = |(name, value): &(String, f64), texts: &mut crate::collections::Texts| zkr_metric {
            name: texts.keep(name),
            value: *value,
        };
        place.put(|| handle::publish::<Metrics>(List::new(&numbers, entry)))
    })
}

/// The same as the text that Prometheus reads, in which times are in seconds. Free it with zkr_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_prometheus(
    client: *const zkr_client,
    text: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("text", text)?;
        let written = client::get(client)?.core.metrics().to_prometheus();
        place.put(|| handle::publish(Buffer::new(written.into_bytes())))
    })
}

/// The number of that name; NaN if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_metrics_value(metrics: *const zkr_metrics, name: *const c_char) -> f64 {
    guard::answer(f64::NAN, || {
        let name = input::text("name", name).ok()?;
        let metrics = handle::get_anywhere::<Metrics>(metrics)?;
        metrics.find(|metric| {
            // SAFETY: it points into what is kept beside it.
            let known = unsafe { std::ffi::CStr::from_ptr(metric.name) };
            (known.to_bytes() == name.as_bytes()).then_some(metric.value)
        })
    })
}

/// The nodes that recipes of this client went on without since it connected, because they may not be read or what they say is not
/// understood: the path of each as its name, and as its data why, "denied", "encoding", "children" of an item that somebody has
/// made nodes below, or "size" of one that is too large to be taken. The last thousand at most; one that can be read again stays
/// among them. Asks no server. On success *nodes belongs to the caller: free it with zkr_entries_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_skipped(
    client: *const zkr_client,
    nodes: *mut *mut zkr_entries,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("nodes", nodes)?;
        let client = client::get(client)?;
        place.put(|| handle::publish(client.core.skipped().object(&client.core)))
    })
}
