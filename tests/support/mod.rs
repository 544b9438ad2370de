//! Real shells, and lines to hold against them.

pub(crate) mod arena;
pub(crate) mod compare;
pub(crate) mod corpus;
pub(crate) mod generate;
pub(crate) mod locales;
pub(crate) mod records;
pub(crate) mod shells;
