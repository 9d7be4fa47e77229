/** The platform takes a made-up request of every other operation, the same ones each time; the soak sends many of each. */
import { after, before } from 'node:test';
import { testFuzzedPlatform } from './fuzz-platform.ts';

const crashes: unknown[] = [];
const onCrash = (error: unknown) => crashes.push(error);
before(() => void process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash));
after(() => void process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash));

await testFuzzedPlatform({ requests: 110, crashes, isLong: false });
