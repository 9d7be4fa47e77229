/** What was used: recorded with what it is the usage of, and summed by day. */
export { auditUsage } from './audit-usage.ts';
export { recordTenantUsage, recordUsage } from './record-usage.ts';
export { defineUsageSweep } from './sweep-usage-entries.ts';
export { recordUsageSql } from './usage-sql.ts';
