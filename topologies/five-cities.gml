# Five cities in Europe, an example of our own: rates and lines are made up. Delays follow from the
# places; the line Paris - Madrid names its rate in words, and London - Madrid names none.
graph [
  node [ id 0 label "London" Latitude 51.5074 Longitude -0.1278 ]
  node [ id 1 label "Paris" Latitude 48.8566 Longitude 2.3522 ]
  node [ id 2 label "Frankfurt" Latitude 50.1109 Longitude 8.6821 ]
  node [ id 3 label "Milan" Latitude 45.4642 Longitude 9.19 ]
  node [ id 4 label "Madrid" Latitude 40.4168 Longitude -3.7038 ]
  edge [ source 0 target 1 LinkSpeedRaw 10000000000.0 ]
  edge [ source 0 target 2 LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 2 LinkSpeedRaw 40000000000.0 ]
  edge [ source 2 target 3 LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 3 LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 4 LinkLabel "2x OC-48" ]
  edge [ source 0 target 4 ]
]
