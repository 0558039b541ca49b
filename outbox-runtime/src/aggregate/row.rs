//! Writing the aggregate's own row, with the user's hooks, through SeaORM.
#![allow(clippy::missing_errors_doc, reason = "called by generated code only; the generated methods say it")]

use sea_orm::{
    ActiveModelBehavior, ActiveModelTrait, ActiveValue, DatabaseTransaction, DbErr, EntityTrait, IntoActiveModel,
    PrimaryKeyTrait, QueryFilter as _, Value,
    sea_query::{FromValueTuple, SimpleExpr, ValueTuple},
};

use super::watched::Watched;

/// What `save` does to the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The root is new.
    Insert,
    /// The root was loaded.
    Update,
}

/// Why the row was not written.
///
/// A hook may return any [`DbErr`], `RecordNotUpdated` included, also after the row was written. So only what our
/// own statement says is [`WriteError::NotFound`] or [`WriteError::Conflict`].
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The database or a hook said so; something may have been written.
    Db(DbErr),
    /// There is no such row. A hook may have written something before that was seen.
    NotFound(Hooked),
    /// The version column holds another number than the root was loaded with. As above.
    Conflict(Hooked),
    /// The version column is not set, so a conflict could not be seen, or has no next number.
    Version,
}

/// Whether a hook ran a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hooked(pub(super) bool);

impl From<DbErr> for WriteError {
    fn from(error: DbErr) -> Self {
        Self::Db(error)
    }
}

type ModelOf<R> = <<R as ActiveModelTrait>::Entity as EntityTrait>::Model;

/// Inserts or updates by primary key, hooks included.
pub async fn write_row<R>(row: R, write: Write, tx: &DatabaseTransaction) -> Result<(R, ModelOf<R>), WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
    ModelOf<R>: IntoActiveModel<R> + Clone + Send,
{
    put(row, write, None, tx).await
}

/// As [`write_row`], but updates only while `unchanged` holds.
pub async fn write_versioned_row<R>(
    row: R,
    write: Write,
    unchanged: SimpleExpr,
    tx: &DatabaseTransaction,
) -> Result<(R, ModelOf<R>), WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
    ModelOf<R>: IntoActiveModel<R> + Clone + Send,
{
    put(row, write, Some(unchanged), tx).await
}

/// What `ActiveModelTrait::insert` and `update` do, with one more condition, and knowing whose error it is.
async fn put<R>(
    row: R,
    write: Write,
    unchanged: Option<SimpleExpr>,
    tx: &DatabaseTransaction,
) -> Result<(R, ModelOf<R>), WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
    ModelOf<R>: IntoActiveModel<R> + Clone + Send,
{
    let model = match write {
        Write::Insert => row.insert(tx).await?,
        Write::Update => {
            let watched = Watched::new(tx);
            let row = ActiveModelBehavior::before_save(row, &watched, false).await?;
            let mut update = R::Entity::update(row).validate()?;
            let missing = missing(unchanged.is_some());
            if let Some(unchanged) = unchanged {
                update = update.filter(unchanged);
            }
            let model = match update.exec(tx).await {
                Err(DbErr::RecordNotUpdated | DbErr::RecordNotFound(_)) => return Err(missing(watched.used())),
                other => other?,
            };
            R::after_save(model, tx, false).await?
        }
    };
    Ok((model.clone().into_active_model(), model))
}

/// Deletes by primary key, hooks included; the number of rows deleted.
pub async fn delete_row<R>(row: R, tx: &DatabaseTransaction) -> Result<u64, WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
{
    remove(row, None, tx).await
}

/// As [`delete_row`], but only while `unchanged` holds.
pub async fn delete_versioned_row<R>(row: R, unchanged: SimpleExpr, tx: &DatabaseTransaction) -> Result<u64, WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
{
    remove(row, Some(unchanged), tx).await
}

/// What `ActiveModelTrait::delete` does, except that `after_delete` does not run for a row that was not there.
async fn remove<R>(row: R, unchanged: Option<SimpleExpr>, tx: &DatabaseTransaction) -> Result<u64, WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
{
    let watched = Watched::new(tx);
    let row = ActiveModelBehavior::before_delete(row, &watched).await?;
    let key = row.clone();
    let mut delete = R::Entity::delete(row).validate()?;
    let missing = missing(unchanged.is_some());
    if let Some(unchanged) = unchanged {
        delete = delete.filter(unchanged);
    }
    let deleted = delete.exec(tx).await?.rows_affected;
    if deleted == 0 {
        return Err(missing(watched.used()));
    }
    ActiveModelBehavior::after_delete(key, tx).await?;
    Ok(deleted)
}

fn missing(versioned: bool) -> fn(Hooked) -> WriteError {
    if versioned { WriteError::Conflict } else { WriteError::NotFound }
}

/// What the error of a nested update means: it may come from the root, a child or a hook, so the row is looked for.
/// SeaORM has undone all of it by then, with a savepoint of its own.
pub async fn nested_error<E: EntityTrait>(
    key: Option<ValueTuple>,
    error: DbErr,
    tx: &DatabaseTransaction,
) -> WriteError {
    let (DbErr::RecordNotUpdated | DbErr::RecordNotFound(_), Some(key)) = (&error, key) else {
        return WriteError::Db(error);
    };
    let key = <<E::PrimaryKey as PrimaryKeyTrait>::ValueType as FromValueTuple>::from_value_tuple(key);
    match E::find_by_id(key).one(tx).await {
        Ok(None) => WriteError::NotFound(Hooked(false)),
        Ok(Some(_)) | Err(_) => WriteError::Db(error),
    }
}

/// An integer that can count the versions of a row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot count the versions of a row",
    label = "the column named by `version = …` must be an integer",
    note = "use one of i16, i32, i64, u16, u32, u64"
)]
pub trait VersionNumber: Copy + Into<Value> + sea_orm::sea_query::Nullable {
    /// Of a row just inserted.
    const FIRST: Self;
    /// The number after this one.
    fn next(self) -> Option<Self>;
}

macro_rules! version_number {
    ($($ty:ty),*) => {$(
        impl VersionNumber for $ty {
            const FIRST: Self = 1;
            fn next(self) -> Option<Self> { self.checked_add(1) }
        }
    )*};
}
version_number!(i16, i32, i64, u16, u32, u64);

/// Raises the version column for this write and returns the number that must still be in the database.
pub fn next_version<V: VersionNumber>(column: &mut ActiveValue<V>, write: Write) -> Result<V, WriteError> {
    let found = match column {
        ActiveValue::Set(number) | ActiveValue::Unchanged(number) => Some(*number),
        ActiveValue::NotSet => None,
    };
    match (write, found) {
        (Write::Insert, found) => {
            let first = found.unwrap_or(V::FIRST);
            *column = ActiveValue::Set(first);
            Ok(first)
        }
        (Write::Update, Some(number)) => {
            *column = ActiveValue::Set(number.next().ok_or(WriteError::Version)?);
            Ok(number)
        }
        (Write::Update, None) => Err(WriteError::Version),
    }
}

/// The number that must still be in the database for a delete. That it is a [`VersionNumber`] is for
/// [`next_version`] to ask, so that a column of another type is one error.
pub fn current_version<V: Clone + Into<Value>>(column: &ActiveValue<V>) -> Result<V, WriteError> {
    match column {
        ActiveValue::Set(number) | ActiveValue::Unchanged(number) => Ok(number.clone()),
        ActiveValue::NotSet => Err(WriteError::Version),
    }
}
