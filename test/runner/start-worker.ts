/** The program of a worker process. Not by flags of Node's, which threads and children of tests would inherit. */
import './track-tests.ts';

await import('./worker.ts');
