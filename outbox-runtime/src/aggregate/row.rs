//! Writing the aggregate's own row, with the user's hooks, through SeaORM.
#![allow(clippy::missing_errors_doc, reason = "called by generated code only; the generated methods say it")]

use sea_orm::{
    ActiveModelBehavior, ActiveModelTrait, ActiveValue, DatabaseTransaction, DbErr, EntityTrait, IntoActiveModel,
    QueryFilter as _, Value, sea_query::SimpleExpr,
};

/// What `save` does to the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The root is new.
    Insert,
    /// The root was loaded.
    Update,
}

/// Why the row was not written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The database said so.
    Db(DbErr),
    /// There is no such row.
    NotFound,
    /// The version column holds another number than the root was loaded with.
    Conflict,
    /// The version column is not set, so a conflict could not be seen, or has no next number.
    Version,
}

impl From<DbErr> for WriteError {
    fn from(error: DbErr) -> Self {
        match error {
            DbErr::RecordNotUpdated | DbErr::RecordNotFound(_) => Self::NotFound,
            other => Self::Db(other),
        }
    }
}

type ModelOf<R> = <<R as ActiveModelTrait>::Entity as EntityTrait>::Model;

/// Inserts or updates by primary key, hooks included.
pub async fn write_row<R>(row: R, write: Write, tx: &DatabaseTransaction) -> Result<(R, ModelOf<R>), WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
    ModelOf<R>: IntoActiveModel<R> + Clone + Send,
{
    let model = match write {
        Write::Insert => row.insert(tx).await?,
        Write::Update => row.update(tx).await?,
    };
    Ok((model.clone().into_active_model(), model))
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
    if write == Write::Insert {
        return write_row(row, write, tx).await;
    }
    // What `ActiveModelTrait::update` does, with one more condition.
    let row = ActiveModelBehavior::before_save(row, tx, false).await?;
    let model = match R::Entity::update(row).validate()?.filter(unchanged).exec(tx).await {
        Err(DbErr::RecordNotUpdated | DbErr::RecordNotFound(_)) => return Err(WriteError::Conflict),
        other => other?,
    };
    let model = R::after_save(model, tx, false).await?;
    Ok((model.clone().into_active_model(), model))
}

/// Deletes by primary key, hooks included; the number of rows deleted.
pub async fn delete_row<R>(row: R, tx: &DatabaseTransaction) -> Result<u64, WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
{
    Ok(row.delete(tx).await?.rows_affected)
}

/// As [`delete_row`], but only while `unchanged` holds.
pub async fn delete_versioned_row<R>(row: R, unchanged: SimpleExpr, tx: &DatabaseTransaction) -> Result<u64, WriteError>
where
    R: ActiveModelTrait + ActiveModelBehavior + Send,
{
    let row = ActiveModelBehavior::before_delete(row, tx).await?;
    let key = row.clone();
    let deleted = R::Entity::delete(row).validate()?.filter(unchanged).exec(tx).await?.rows_affected;
    if deleted == 0 {
        return Err(WriteError::Conflict);
    }
    ActiveModelBehavior::after_delete(key, tx).await?;
    Ok(deleted)
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
