/** The gate's scenarios with a crash before and after each effect, and a stall before each outside of transactions. */
import { testScenarios, turnScenarios } from './platform-scenarios.ts';

process.env.IRONCRAFT_SIMULATION_CRASH ??= 'all';

testScenarios({ ...turnScenarios });
