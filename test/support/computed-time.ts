/** Milliseconds that this thread has computed so far: how long it waited for a processor is not its doing. */
export function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
