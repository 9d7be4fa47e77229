/** The domain service takes a made-up request of each operation, the same ones each time; the soak sends many more. */
import { after, before } from 'node:test';
import { testFuzzedDomains } from './fuzz-domains.ts';

const crashes: unknown[] = [];
const onCrash = (error: unknown) => crashes.push(error);
before(() => void process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash));
after(() => void process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash));

await testFuzzedDomains({ requests: 90, crashes, isLong: false });
