//! Which database errors a rerun of the whole transaction may cure. Judged by code, never by text.

use sea_orm::{DbBackend, DbErr, RuntimeErr, sqlx::error::DatabaseError};

/// `PostgreSQL`: serialization failure, deadlock, lock not available.
#[cfg(feature = "postgres")]
const POSTGRES: [&str; 3] = ["40001", "40P01", "55P03"];
/// `SQLite` primary result codes: BUSY, LOCKED.
#[cfg(feature = "sqlite")]
const SQLITE: [i32; 2] = [5, 6];

/// The error is a serialization failure, a deadlock, or a busy database.
pub(crate) fn is_transient(backend: DbBackend, error: &DbErr) -> bool {
    let Some(code) = code(error) else { return false };
    match backend {
        #[cfg(feature = "postgres")]
        DbBackend::Postgres => POSTGRES.contains(&&*code),
        #[cfg(feature = "sqlite")]
        DbBackend::Sqlite => code.parse::<i32>().is_ok_and(|code| SQLITE.contains(&(code & 0xff))),
        _ => false,
    }
}

/// The append was refused because an event with this id is stored. Not so if its sequence number is taken.
pub(crate) fn is_event_stored_already(backend: DbBackend, error: &DbErr) -> bool {
    let Some(error) = database_error(error) else { return false };
    match backend {
        #[cfg(feature = "postgres")]
        DbBackend::Postgres => {
            error.code().is_some_and(|code| code == "23505") && error.constraint() == Some("outbox_events_pkey")
        }
        // SQLITE_CONSTRAINT_PRIMARYKEY; the numbers are only UNIQUE, which is another code.
        #[cfg(feature = "sqlite")]
        DbBackend::Sqlite => error.code().is_some_and(|code| code == "1555"),
        _ => false,
    }
}

/// SQLSTATE, or `SQLite`'s extended result code.
fn code(error: &DbErr) -> Option<String> {
    Some(database_error(error)?.code()?.into_owned())
}

fn database_error(error: &DbErr) -> Option<&dyn DatabaseError> {
    let (DbErr::Exec(RuntimeErr::SqlxError(error))
    | DbErr::Query(RuntimeErr::SqlxError(error))
    | DbErr::Conn(RuntimeErr::SqlxError(error))) = error
    else {
        return None;
    };
    error.as_database_error()
}

/// A table may be missing. SQLite has no code of its own for it: good enough for a hint, and for nothing else.
pub(crate) fn may_miss_tables(error: &DbErr) -> bool {
    code(error).is_some_and(|code| matches!(&*code, "42P01" | "1"))
}
