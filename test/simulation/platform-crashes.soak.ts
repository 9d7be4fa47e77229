/** The gate's scenarios with a crash before and after each effect, and a stall before each outside of transactions. */
import { fileScenarios, moneyScenarios, tokenScenarios, turnScenarios, workScenarios } from './platform-scenarios.ts';
import { testScenarios } from './run-scenario.ts';

testScenarios({ ...turnScenarios, ...workScenarios, ...tokenScenarios, ...moneyScenarios, ...fileScenarios }, 'all');
