//! The recipes, each one file that reads like its recipe.

pub mod lock;
