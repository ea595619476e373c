//! Generated from api/lists.toml by api/generate; do not edit.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::collections::{List, Several};
use crate::commits::{
    CommitTransactionHandle, ProposalHandle, zkr_commit_status, zkr_commit_transaction, zkr_proposal,
};
use crate::contenders::zkr_contender;
use crate::error::zkr_error;
use crate::followed::zkr_entry;
use crate::guard;
use crate::handle;
use crate::handle::Object;
use crate::items::{ItemHandle, zkr_dead_letter, zkr_item, zkr_payload};
use crate::metrics::zkr_metric;
use crate::services::zkr_instance;
use crate::status::zkr_status;
use crate::transaction::zkr_part_result;

/// The end of zkr_lock_contenders_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is NULL;
/// the error is only lent.
pub type zkr_contenders_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        contenders: *mut zkr_contenders,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// A list of those who hold and wait.
pub struct zkr_contenders {
    _opaque: [u8; 0],
}

pub(crate) type Contenders = List<zkr_contender>;

impl Object for Contenders {
    type Opaque = zkr_contenders;
    const NAME: &'static str = "zkr_contenders";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_count(contenders: *const zkr_contenders) -> usize {
    guard::answer(0, || handle::get_anywhere::<Contenders>(contenders).map(|list| list.count()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_get(
    contenders: *const zkr_contenders,
    index: usize,
) -> *const zkr_contender {
    guard::answer(null(), || handle::get_anywhere::<Contenders>(contenders)?.entry(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_free(contenders: *mut zkr_contenders) {
    guard::quietly(|| drop(handle::take::<Contenders>(contenders)));
}

/// The end of zkr_transaction_commit_results_async. On ZKR_OK the list belongs to the callback, otherwise it is NULL;
/// the error is only lent.
pub type zkr_part_results_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        part_results: *mut zkr_part_results,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// What became of the parts of a transaction, in the order in which they were added.
pub struct zkr_part_results {
    _opaque: [u8; 0],
}

pub(crate) type PartResults = List<zkr_part_result>;

impl Object for PartResults {
    type Opaque = zkr_part_results;
    const NAME: &'static str = "zkr_part_results";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_part_results_count(part_results: *const zkr_part_results) -> usize {
    guard::answer(0, || handle::get_anywhere::<PartResults>(part_results).map(|list| list.count()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_part_results_get(
    part_results: *const zkr_part_results,
    index: usize,
) -> *const zkr_part_result {
    guard::answer(null(), || handle::get_anywhere::<PartResults>(part_results)?.entry(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_part_results_free(part_results: *mut zkr_part_results) {
    guard::quietly(|| drop(handle::take::<PartResults>(part_results)));
}

/// The end of zkr_group_members_async, or what zkr_names_watch tells. On ZKR_OK the list belongs to the callback,
/// otherwise it is NULL; the error is only lent.
pub type zkr_entries_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        entries: *mut zkr_entries,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// Names and their data, sorted by name.
pub struct zkr_entries {
    _opaque: [u8; 0],
}

pub(crate) type Entries = List<zkr_entry>;

impl Object for Entries {
    type Opaque = zkr_entries;
    const NAME: &'static str = "zkr_entries";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_entries_count(entries: *const zkr_entries) -> usize {
    guard::answer(0, || handle::get_anywhere::<Entries>(entries).map(|list| list.count()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_entries_get(entries: *const zkr_entries, index: usize) -> *const zkr_entry {
    guard::answer(null(), || handle::get_anywhere::<Entries>(entries)?.entry(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_entries_free(entries: *mut zkr_entries) {
    guard::quietly(|| drop(handle::take::<Entries>(entries)));
}

/// The end of zkr_queue_items_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
/// error is only lent.
pub type zkr_payloads_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        payloads: *mut zkr_payloads,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// The data of items, in order.
pub struct zkr_payloads {
    _opaque: [u8; 0],
}

pub(crate) type Payloads = List<zkr_payload>;

impl Object for Payloads {
    type Opaque = zkr_payloads;
    const NAME: &'static str = "zkr_payloads";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_payloads_count(payloads: *const zkr_payloads) -> usize {
    guard::answer(0, || handle::get_anywhere::<Payloads>(payloads).map(|list| list.count()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_payloads_get(payloads: *const zkr_payloads, index: usize) -> *const zkr_payload {
    guard::answer(null(), || handle::get_anywhere::<Payloads>(payloads)?.entry(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_payloads_free(payloads: *mut zkr_payloads) {
    guard::quietly(|| drop(handle::take::<Payloads>(payloads)));
}

/// The end of zkr_queue_dead_letters_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is
/// NULL; the error is only lent.
pub type zkr_dead_letters_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        dead_letters: *mut zkr_dead_letters,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// Items that are over, in order.
pub struct zkr_dead_letters {
    _opaque: [u8; 0],
}

pub(crate) type DeadLetters = List<zkr_dead_letter>;

impl Object for DeadLetters {
    type Opaque = zkr_dead_letters;
    const NAME: &'static str = "zkr_dead_letters";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_dead_letters_count(dead_letters: *const zkr_dead_letters) -> usize {
    guard::answer(0, || handle::get_anywhere::<DeadLetters>(dead_letters).map(|list| list.count()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_dead_letters_get(
    dead_letters: *const zkr_dead_letters,
    index: usize,
) -> *const zkr_dead_letter {
    guard::answer(null(), || handle::get_anywhere::<DeadLetters>(dead_letters)?.entry(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_dead_letters_free(dead_letters: *mut zkr_dead_letters) {
    guard::quietly(|| drop(handle::take::<DeadLetters>(dead_letters)));
}

/// The end of zkr_queue_claim_many_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is
/// NULL; the error is only lent.
pub type zkr_items_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        items: *mut zkr_items,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// Items that were claimed, in order, each of which can be taken once. Freeing it gives back those that nobody has
/// taken.
pub struct zkr_items {
    _opaque: [u8; 0],
}

pub(crate) type Items = Several<ItemHandle>;

impl Object for Items {
    type Opaque = zkr_items;
    const NAME: &'static str = "zkr_items";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_items_count(items: *const zkr_items) -> usize {
    guard::answer(0, || handle::get_anywhere::<Items>(items).map(|list| list.count()))
}

/// One of them, which is the caller's: free it with zkr_item_free. NULL past the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_items_take(items: *const zkr_items, index: usize) -> *mut zkr_item {
    guard::answer(null_mut(), || handle::get_anywhere::<Items>(items)?.take(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_items_free(items: *mut zkr_items) {
    guard::quietly(|| drop(handle::take::<Items>(items)));
}

/// The end of zkr_two_phase_commit_history_async and the like. On ZKR_OK the list belongs to the callback, otherwise it
/// is NULL; the error is only lent.
pub type zkr_commit_statuses_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        commit_statuses: *mut zkr_commit_statuses,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// How transactions of two-phase commit stand, the oldest first.
pub struct zkr_commit_statuses {
    _opaque: [u8; 0],
}

pub(crate) type CommitStatuses = List<zkr_commit_status>;

impl Object for CommitStatuses {
    type Opaque = zkr_commit_statuses;
    const NAME: &'static str = "zkr_commit_statuses";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_statuses_count(commit_statuses: *const zkr_commit_statuses) -> usize {
    guard::answer(0, || handle::get_anywhere::<CommitStatuses>(commit_statuses).map(|list| list.count()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_statuses_get(
    commit_statuses: *const zkr_commit_statuses,
    index: usize,
) -> *const zkr_commit_status {
    guard::answer(null(), || handle::get_anywhere::<CommitStatuses>(commit_statuses)?.entry(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_statuses_free(commit_statuses: *mut zkr_commit_statuses) {
    guard::quietly(|| drop(handle::take::<CommitStatuses>(commit_statuses)));
}

/// The end of zkr_two_phase_commit_recover_async. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
/// error is only lent.
pub type zkr_commit_transactions_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        commit_transactions: *mut zkr_commit_transactions,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// Transactions that were taken over, the oldest first.
pub struct zkr_commit_transactions {
    _opaque: [u8; 0],
}

pub(crate) type CommitTransactions = Several<CommitTransactionHandle>;

impl Object for CommitTransactions {
    type Opaque = zkr_commit_transactions;
    const NAME: &'static str = "zkr_commit_transactions";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transactions_count(
    commit_transactions: *const zkr_commit_transactions,
) -> usize {
    guard::answer(0, || {
        handle::get_anywhere::<CommitTransactions>(commit_transactions).map(|list| list.count())
    })
}

/// One of them, which is the caller's: free it with zkr_commit_transaction_free. NULL past the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transactions_take(
    commit_transactions: *const zkr_commit_transactions,
    index: usize,
) -> *mut zkr_commit_transaction {
    guard::answer(null_mut(), || handle::get_anywhere::<CommitTransactions>(commit_transactions)?.take(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transactions_free(commit_transactions: *mut zkr_commit_transactions) {
    guard::quietly(|| drop(handle::take::<CommitTransactions>(commit_transactions)));
}

/// The end of zkr_two_phase_commit_pending_async. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
/// error is only lent.
pub type zkr_proposals_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        proposals: *mut zkr_proposals,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// What a site was asked, the oldest first.
pub struct zkr_proposals {
    _opaque: [u8; 0],
}

pub(crate) type Proposals = Several<ProposalHandle>;

impl Object for Proposals {
    type Opaque = zkr_proposals;
    const NAME: &'static str = "zkr_proposals";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposals_count(proposals: *const zkr_proposals) -> usize {
    guard::answer(0, || handle::get_anywhere::<Proposals>(proposals).map(|list| list.count()))
}

/// One of them, which is the caller's: free it with zkr_proposal_free. NULL past the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposals_take(proposals: *const zkr_proposals, index: usize) -> *mut zkr_proposal {
    guard::answer(null_mut(), || handle::get_anywhere::<Proposals>(proposals)?.take(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposals_free(proposals: *mut zkr_proposals) {
    guard::quietly(|| drop(handle::take::<Proposals>(proposals)));
}

/// The end of zkr_discovery_instances_async and the like, or what zkr_discovery_watch tells. On ZKR_OK the list belongs
/// to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_instances_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        instances: *mut zkr_instances,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// Instances of a service, by the names of their nodes.
pub struct zkr_instances {
    _opaque: [u8; 0],
}

pub(crate) type Instances = List<zkr_instance>;

impl Object for Instances {
    type Opaque = zkr_instances;
    const NAME: &'static str = "zkr_instances";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_instances_count(instances: *const zkr_instances) -> usize {
    guard::answer(0, || handle::get_anywhere::<Instances>(instances).map(|list| list.count()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_instances_get(instances: *const zkr_instances, index: usize) -> *const zkr_instance {
    guard::answer(null(), || handle::get_anywhere::<Instances>(instances)?.entry(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_instances_free(instances: *mut zkr_instances) {
    guard::quietly(|| drop(handle::take::<Instances>(instances)));
}

/// What a client has counted, a number each.
pub struct zkr_metrics {
    _opaque: [u8; 0],
}

pub(crate) type Metrics = List<zkr_metric>;

impl Object for Metrics {
    type Opaque = zkr_metrics;
    const NAME: &'static str = "zkr_metrics";
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_metrics_count(metrics: *const zkr_metrics) -> usize {
    guard::answer(0, || handle::get_anywhere::<Metrics>(metrics).map(|list| list.count()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_metrics_get(metrics: *const zkr_metrics, index: usize) -> *const zkr_metric {
    guard::answer(null(), || handle::get_anywhere::<Metrics>(metrics)?.entry(index))
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_metrics_free(metrics: *mut zkr_metrics) {
    guard::quietly(|| drop(handle::take::<Metrics>(metrics)));
}
