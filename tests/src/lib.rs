//! The code blocks of README and book, compiled and run as doctests.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../book/src/promise.md")]
struct Promise;
