/** The closed vocabulary of scopes (contract, "Scopes"). */
const families = [
  'runs',
  'conversations',
  'memories',
  'connections',
  'deployments',
  'schedules',
  'approvals',
  'traces',
  'usage',
  'customers',
  'files',
  'vector_stores',
  'model_keys',
  'skills',
] as const;

export const SCOPES: readonly string[] = [
  ...families.flatMap((family) => [`${family}:read`, `${family}:write`]),
  'embeddings:write',
];

/** Scopes that a smith token may hold: everything but what only a tenant-admin token can use. */
export function isScope(text: string): boolean {
  return SCOPES.includes(text);
}
