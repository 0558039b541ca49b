//! Which database errors a rerun of the whole transaction may cure. Judged by code, never by text.

use sea_orm::{DbBackend, DbErr, RuntimeErr};

/// PostgreSQL: serialization failure, deadlock, lock not available.
#[cfg(feature = "postgres")]
const POSTGRES: [&str; 3] = ["40001", "40P01", "55P03"];
/// SQLite primary result codes: BUSY, LOCKED.
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

/// A unique index or primary key refused the row.
pub(crate) fn is_unique_violation(backend: DbBackend, error: &DbErr) -> bool {
    let Some(code) = code(error) else { return false };
    match backend {
        #[cfg(feature = "postgres")]
        DbBackend::Postgres => &*code == "23505",
        // SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE
        #[cfg(feature = "sqlite")]
        DbBackend::Sqlite => matches!(&*code, "1555" | "2067"),
        _ => false,
    }
}

/// SQLSTATE, or SQLite's extended result code.
fn code(error: &DbErr) -> Option<String> {
    let (DbErr::Exec(RuntimeErr::SqlxError(error))
    | DbErr::Query(RuntimeErr::SqlxError(error))
    | DbErr::Conn(RuntimeErr::SqlxError(error))) = error
    else {
        return None;
    };
    Some(error.as_database_error()?.code()?.into_owned())
}
