//! Several writes that the server applies together or not at all.

use std::ffi::c_char;
use std::ptr::null;

use zkrecipes::{Client, PartResult, Transaction};

use crate::collections::List;
use crate::handle::Object;
use crate::lists::PartResults;
use crate::nodes::zkr_stat;
use crate::verbs::Holder;

#[path = "generated/transaction.rs"]
mod generated;

/// Writes that the server applies together or not at all, from zkr_nodes_transaction, zkr_lock_guarded or
/// zkr_held_guarded. Adding to it sends nothing; zkr_transaction_commit sends all of it as one request.
pub struct zkr_transaction {
    _opaque: [u8; 0],
}

pub(crate) struct TransactionHandle {
    client: Client,
    pub(crate) core: Transaction,
}

impl TransactionHandle {
    pub(crate) fn new(client: Client, core: Transaction) -> TransactionHandle {
        TransactionHandle { client, core }
    }
}

impl Object for TransactionHandle {
    type Opaque = zkr_transaction;
    const NAME: &'static str = "zkr_transaction";
}

impl Holder for TransactionHandle {
    fn client(&self) -> &Client {
        &self.client
    }
}

/// What a part of a transaction did.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum zkr_part {
    // --- generated from api: values of PartKind
    /// A node was created.
    ZKR_PART_CREATED = 0,
    /// The data of a node was replaced.
    ZKR_PART_SET = 1,
    /// A node was deleted.
    ZKR_PART_DELETED = 2,
    /// A condition was met.
    ZKR_PART_CHECKED = 3,
    // --- end of generated
}

/// What became of one part of a transaction.
#[repr(C)]
pub struct zkr_part_result {
    /// The path of a node that was created, with the number that the server appended if the mode is sequential; else NULL.
    pub path: *const c_char,
    /// What the server knows about a node that was set; else zeros.
    pub stat: zkr_stat,
    /// What the part did.
    pub part: zkr_part,
}

impl PartResults {
    pub(crate) fn of(found: &[PartResult]) -> PartResults {
        List::new(found, |one, texts| {
            let (part, path, stat) = match one {
                PartResult::Created(path) => (zkr_part::ZKR_PART_CREATED, texts.keep(path), None),
                PartResult::Set(stat) => (zkr_part::ZKR_PART_SET, null(), Some(*stat)),
                PartResult::Deleted => (zkr_part::ZKR_PART_DELETED, null(), None),
                _ => (zkr_part::ZKR_PART_CHECKED, null(), None),
            };
            zkr_part_result { path, stat: stat.map(zkr_stat::from).unwrap_or_default(), part }
        })
    }
}
