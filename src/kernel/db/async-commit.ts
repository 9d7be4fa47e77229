/**
 * A column of a statement that writes: its commit does not wait for the disk. For what may be lost when the database itself
 * is killed (a lease, a reservation), or is done again then; a commit that comes later and waits makes it durable too.
 */
export const ASYNC_COMMIT = `set_config('synchronous_commit', 'off', true) as async_commit`;
