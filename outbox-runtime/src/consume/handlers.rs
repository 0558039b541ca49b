//! The list of handlers, as a type: each entry decodes one set of events.

use std::{fmt, marker::PhantomData};

use super::{Delivery, HandlerError, failure::Failure};
use crate::{
    event::{DecodeError, EventSet, RawEvent},
    store::Tx,
};

/// A consumer that handles something. Sealed: made by [`Consumer::on`](crate::Consumer::on).
///
/// A function that returns `Consumer<impl Handlers>` hides whether the handlers' futures are `Send`, so its run
/// can be awaited but not spawned. Return the run itself where it shall be spawned: see
/// [`Consumer::run`](crate::Consumer::run).
///
/// ```
/// use outbox_runtime::{Consumer, Handlers};
///
/// fn name_of<H: Handlers>(consumer: &Consumer<H>) -> &str {
///     consumer.name()
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "this consumer handles no events",
    label = "no handler",
    note = "call `.on(async |event: OrderEvent, delivery: Delivery, tx: &Tx| Ok(()))` before `run`"
)]
pub trait Handlers: Dispatch {}

/// Seals [`Handlers`].
#[allow(async_fn_in_trait)] // Whether the future is `Send` follows from the handlers; a bound would refuse closures.
pub trait Dispatch {
    /// Gives the event to every handler whose set knows it. `false`: none does.
    async fn dispatch(&self, event: &RawEvent, delivery: &Delivery, tx: &Tx) -> Result<bool, Failure>;
}

/// The end of the list: a consumer before its first [`on`](crate::Consumer::on).
///
/// ```
/// let _none = outbox_runtime::NoHandlers;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NoHandlers;

impl Dispatch for NoHandlers {
    async fn dispatch(&self, _: &RawEvent, _: &Delivery, _: &Tx) -> Result<bool, Failure> {
        Ok(false)
    }
}

/// A handler `F` for the event set `E`, after the handlers in `Before`: what [`Consumer::on`](crate::Consumer::on)
/// makes. It need not be named; a function that would have to name it starts the run itself, or returns it.
///
/// ```
/// use outbox_runtime::{ConsumeError, LocalSource, prelude::*};
///
/// /// Ready for `tokio::spawn`.
/// fn log<E: EventSet + std::fmt::Debug + Send + 'static>(
///     db: sea_orm::DatabaseConnection,
///     source: LocalSource,
/// ) -> impl Future<Output = Result<(), ConsumeError>> + Send + 'static {
///     let consumer = Consumer::builder(db, "log").on(async |event: E, _: Delivery, _: &Tx| {
///         println!("{event:?}");
///         Ok(())
///     });
///     consumer.run(source) // its type is `Consumer<On<E, _, NoHandlers>>`
/// }
/// ```
pub struct On<E, F, Before> {
    handler: F,
    before: Before,
    set: PhantomData<fn() -> E>,
}

impl<E, F, Before> On<E, F, Before> {
    pub(super) fn new(handler: F, before: Before) -> Self {
        Self { handler, before, set: PhantomData }
    }
}

impl<E, F, Before> fmt::Debug for On<E, F, Before> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("On").field("events", &std::any::type_name::<E>()).finish_non_exhaustive()
    }
}

impl<E, F, Before> Dispatch for On<E, F, Before>
where
    E: EventSet,
    // One reference argument and `FnOnce + Clone`: with two, or with `AsyncFn`, a run could not be spawned.
    F: for<'t> AsyncFnOnce(E, Delivery, &'t Tx) -> Result<(), HandlerError> + Clone,
    Before: Dispatch,
{
    async fn dispatch(&self, event: &RawEvent, delivery: &Delivery, tx: &Tx) -> Result<bool, Failure> {
        let known_before = self.before.dispatch(event, delivery, tx).await?;
        let decoded = match E::decode(event) {
            Ok(decoded) => decoded,
            Err(DecodeError::UnknownType { .. }) => return Ok(known_before),
            Err(error) => return Err(Failure::Decode(error)),
        };
        for one in decoded {
            self.handler.clone()(one, delivery.clone(), tx)
                .await
                .map_err(|error| Failure::Handler(error.into_inner()))?;
        }
        Ok(true)
    }
}

impl<E, F, Before> Handlers for On<E, F, Before>
where
    E: EventSet,
    F: for<'t> AsyncFnOnce(E, Delivery, &'t Tx) -> Result<(), HandlerError> + Clone,
    Before: Dispatch,
{
}
