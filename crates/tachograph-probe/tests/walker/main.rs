//! The walker over memory made for the purpose: every rule by itself, and
//! memory that holds anything.

mod fake;
mod hostile;
mod introductions;
mod rules;
