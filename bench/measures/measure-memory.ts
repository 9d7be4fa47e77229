import type { Findings } from '../figure.ts';
import { readUsage } from '../process-usage.ts';
import type { BenchContext } from './bench-context.ts';

const RESIDENT_MB = 220;

/** The server's resident memory after everything that ran before this, with no collection forced. */
export function measureMemory({ server, database }: BenchContext): Findings {
  const { residentMb, peakResidentMb } = readUsage(server.pid);
  // The embedded store lives in the server's own process, and its memory with it.
  const bar = database === undefined ? {} : { bar: { atMost: RESIDENT_MB } };
  return {
    figures: [
      { name: 'resident memory after the load', value: residentMb, unit: 'MB', ...bar },
      { name: 'resident memory, peak', value: peakResidentMb, unit: 'MB' },
    ],
    remarks: [],
    details: { residentMb, peakResidentMb },
  };
}
