//! What a session is known by: whoever has it may go on with the session on another connection, or close it.

use std::time::Duration;

use zeroize::Zeroizing;

/// As a server has granted it.
#[derive(Clone)]
pub struct SessionIdentity {
    pub(super) id: i64,
    pub(super) password: Zeroizing<Vec<u8>>,
    pub(super) timeout: Duration,
}
