WITH cost AS (
    SELECT "Phase of flight" AS phase, "Wildlife Species" AS species, sum("Cost Total $") AS total
    FROM 'libclient/examples/data/birdstrikes.csv'
    WHERE "Flight Date" >= DATE '1995-01-01'
    GROUP BY 1, 2
), ranked AS (
    SELECT *, sum(total) OVER (PARTITION BY phase) AS phase_total,
           row_number() OVER (PARTITION BY phase ORDER BY total DESC) AS place
    FROM cost
)
SELECT phase, species, CASE WHEN phase_total > 0 THEN round(100.0 * total / phase_total, 1) END AS percent
FROM ranked
WHERE place = 1
ORDER BY phase_total DESC
